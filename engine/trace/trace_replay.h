// An engine that plays a recorded run: no model, no answers of its own, any speed, both directions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/api/engine_handle.h"
#include "engine/api/replay_control.h"
#include "engine/base/clock.h"
#include "engine/trace/snapshot_progress.h"
#include "engine/trace/trace_file.h"

namespace engine::trace {

// All times it tells are those since the recording's first event, whatever the recorded clock began with.
// Pause, Resume and StepOnce work as on a live engine; Resume at the end plays from the beginning.
// All other commands are answered as by an engine that cannot do them.
class TraceReplay final : public EngineHandle, public ReplayControl {
 public:
  // Plays from the beginning at once. clock: null = SteadyClock.
  explicit TraceReplay(Trace trace, std::shared_ptr<const Clock> clock = nullptr);

  const Trace& trace() const { return m_trace; }

  bool isPaused() const { return m_isPaused; }

  // --- EngineHandle
  EngineCapabilities capabilities() const override;
  void submit(Command command) override;
  void drainMessages(std::vector<EngineMessage>& out) override;
  void drainEvents(std::vector<TraceEvent>& out) override;

  std::uint64_t numLostEvents() const override { return m_numLost; }

  std::shared_ptr<const EngineSnapshot> latestSnapshot() const override { return m_shown; }

  std::int64_t nowNs() const override { return positionNs(); }

  ReplayControl* replayControl() override { return this; }

  // --- ReplayControl
  std::int64_t beginNs() const override { return 0; }

  std::int64_t endNs() const override { return m_endNs - m_beginNs; }

  std::int64_t positionNs() const override { return recordedNs() - m_beginNs; }

  void seekNs(std::int64_t ns) override;

  double speed() const override { return m_speed; }

  void setSpeed(double speed) override;

  std::optional<RecordedPrompt> promptOf(RequestId id) const override;

  const std::string& cutSentence() const override { return m_trace.cutSentence; }

 private:
  void on(const Pause& command);
  void on(const Resume& command);
  void on(const StepOnce& command);
  void on(const Submit& command);
  void on(const LoadModel& command);
  void on(const Query& command);
  void on(const SetLimits&);

  template <typename Other>
  void on(const Other&) {}  // nothing to cancel, nothing to unload

  // From here on times are the recorded ones; they are moved where they leave.
  std::int64_t recordedNs() const;
  void seekRecorded(std::int64_t ns);
  void tick();
  void moveTo(std::int64_t ns);
  void rewind();
  void advanceState(std::int64_t ns);
  void publish();
  void anchor(std::int64_t ns);
  void setPaused(bool isPaused);

  const Trace m_trace;
  const std::shared_ptr<const Clock> m_clock;
  const std::int64_t m_beginNs, m_endNs;

  // the position: where it was at m_anchorClockNs, and since then by the clock unless paused
  std::int64_t m_anchorNs = 0, m_anchorClockNs = 0;
  double m_speed = 1.0;
  bool m_isPaused = false;

  // how far things were handed out
  std::int64_t m_reachedNs = 0;
  std::size_t m_nextEvent = 0, m_nextMessage = 0, m_nextOpening = 0, m_nextLoss = 0;
  std::vector<TraceEvent> m_events;
  std::vector<EngineMessage> m_messages;
  std::uint64_t m_numLost = 0;

  // the state there
  std::size_t m_nextSnapshot = 0;  // snapshots before it are behind
  std::size_t m_stateEvent = 0;    // events before it are in m_progress
  EngineSnapshot m_base;           // the recorded one that m_progress came from
  SnapshotProgress m_progress;
  std::shared_ptr<const EngineSnapshot> m_shown;
  std::uint64_t m_version = 0;
};

}  // namespace engine::trace
