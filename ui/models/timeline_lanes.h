// Each request's life as spans of time, made of trace events alone; what the timeline draws.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/api/snapshot.h"
#include "engine/api/trace_event.h"

namespace ui::models {

// Stalled: admitted, but without a row in an iteration that others had rows in.
enum class SpanKind : std::uint8_t { Prefill, Decode, Verify, Stalled, Count };
inline constexpr std::size_t kNumSpanKinds = static_cast<std::size_t>(SpanKind::Count);

// What one request did in one iteration.
struct LaneSpan {
  std::int64_t t0Ns, t1Ns;
  std::uint64_t iteration;
  std::uint32_t tokens;
  SpanKind kind;
  std::array<std::int64_t, kNumSpanKinds> nsBefore;  // running sums over the lane, this span excluded
};

struct LaneGap {
  std::int64_t t0Ns, t1Ns;  // from preemption to readmission; t1Ns -1 = not yet
};

// -1 = has not happened, or its event was lost. Spans are in order and do not overlap.
struct Lane {
  engine::RequestId id;
  std::string label;
  std::int64_t arrivalNs = -1, admittedNs = -1, firstTokenNs = -1, endNs = -1;
  bool wasCutShort = false;  // cancelled or refused
  bool isRunning = false;
  std::vector<LaneSpan> spans;
  std::vector<LaneGap> gaps;

  std::int64_t startNs() const;
  // End of what is known, `nowNs` for a request still alive.
  std::int64_t lastNs(std::int64_t nowNs) const;
  // Index of the span that holds `ns`, or -1.
  int spanAt(std::int64_t ns) const;
  // Index of the span of an iteration, or -1.
  int spanOf(std::uint64_t iteration) const;
};

// One thing to draw: a span, or several too narrow to be told apart.
struct LaneItem {
  std::int64_t t0Ns, t1Ns;
  int firstSpan, numSpans;
  std::array<double, kNumSpanKinds> share;  // of [t0Ns, t1Ns); the rest is idle
};

// What [t0Ns, t1Ns) shows of a lane when spans shorter than `minNs` are folded. The cost grows with the
// number of items, not of spans.
std::vector<LaneItem> foldLane(const Lane& lane, std::int64_t t0Ns, std::int64_t t1Ns, std::int64_t minNs);

// Ui thread only. Keeps the latest kMaxSpans; whole ended lanes leave first.
class TimelineLanes {
 public:
  static constexpr std::size_t kMaxSpans = std::size_t{1} << 19, kMaxLanes = 4096, kMaxSteps = 1 << 17;

  struct Step {
    std::uint64_t id;
    std::int64_t t0Ns, t1Ns;
  };
  struct Stretch {
    std::int64_t t0Ns, t1Ns;
  };

  void add(const std::vector<engine::TraceEvent>& events);
  // Events before the next ones added were lost.
  void markLoss() { m_isLossPending = true; }
  // Labels, and times whose events were lost.
  void reconcile(const engine::EngineSnapshot& snapshot);
  void clear();

  // By arrival.
  const std::vector<std::unique_ptr<Lane>>& lanes() const { return m_lanes; }
  const Lane* find(engine::RequestId id) const;
  // Null when unknown.
  const Step* step(engine::StepId id) const;
  const std::vector<Stretch>& losses() const { return m_losses; }
  const std::vector<engine::KnobRecord>& knobs() const { return m_knobs; }
  std::int64_t firstNs() const;
  std::int64_t latestNs() const { return m_latestNs; }
  std::size_t numSpans() const { return m_numSpans; }

 private:
  Lane& laneOf(std::uint64_t request);
  void add(const engine::RequestRecord& record);
  void add(const engine::IterationRecord& record);
  void addSpan(Lane& lane, const engine::IterationRecord& step, SpanKind kind, std::uint32_t tokens);
  void end(Lane& lane, std::int64_t ns);
  void dropOldest();

  std::vector<std::unique_ptr<Lane>> m_lanes;
  std::unordered_map<std::uint64_t, Lane*> m_byRequest;
  std::vector<Lane*> m_alive;
  std::vector<engine::SliceRecord> m_pendingSlices;
  std::vector<Step> m_steps;
  std::vector<Stretch> m_losses;
  std::vector<engine::KnobRecord> m_knobs;
  std::int64_t m_latestNs = 0;
  std::size_t m_numSpans = 0;
  bool m_isLossPending = false, m_hasLost = false;
};

}  // namespace ui::models
