// An EngineHandle that plays what a test scripts: replies in pieces, loads that take time, failures.
// It draws nothing from a model; ui tests only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/api/engine_handle.h"

namespace tests {

// One reply: text given out piece by piece, one piece (token) a step.
struct FakeReply {
  std::vector<std::string> pieces;
  engine::FinishReason finish = engine::FinishReason::Stop;
  std::string explanation;  // for Refused and Failed
  std::int64_t promptTokens = 40;
  std::int64_t cachedTokens = 16;
  int prefillSteps = 2;
};

// Splits text into pieces that look like tokens: a word with the space before it.
std::vector<std::string> piecesOf(const std::string& text);

// One thread. Time passes only in advance(): by hand in tests, or by a timer in demonstrations.
class FakeEngineHandle : public engine::EngineHandle {
 public:
  FakeEngineHandle();

  // --- the script
  // Chooses the reply for a submitted request; the default echoes a short sentence.
  std::function<FakeReply(const engine::RequestSpec&)> replyTo;
  // Steps a load takes; a path that contains "broken" fails at the end.
  int loadSteps = 3;
  // CountTokensQuery answers bytes / 4 of the conversation JSON.
  std::int64_t freeBytes = 8'000'000'000;
  int blockSize = 16;
  int numBlocks = 256;
  std::int64_t maxContext = 2048;

  // Puts a loaded model in place at once, as if LoadModel had finished.
  void loadAtOnce(const std::string& path);
  // One scheduler step of 5 ms: progresses loads and requests, publishes a snapshot.
  void advance(int steps = 1);
  bool isBusy() const;

  // --- what a test looks at
  std::vector<engine::Command> commands;  // all that were submitted, in order
  template <typename T>
  int countCommands() const {
    int n = 0;
    for (const auto& c : commands) n += std::holds_alternative<T>(c);
    return n;
  }
  void pushMessage(engine::EngineMessage message) { m_messages.push_back(std::move(message)); }
  void pushEvent(const engine::TraceEvent& event) { m_events.push_back(event); }
  void setLostEvents(std::uint64_t lost) { m_lost = lost; }
  engine::EngineSnapshot& state() { return m_state; }
  void publish();
  bool holdsSnapshots = false;  // messages run ahead of the snapshot, as between two publications

  // --- EngineHandle
  engine::EngineCapabilities capabilities() const override;
  void submit(engine::Command command) override;
  void drainMessages(std::vector<engine::EngineMessage>& out) override;
  void drainEvents(std::vector<engine::TraceEvent>& out) override;
  std::uint64_t numLostEvents() const override { return m_lost; }
  std::shared_ptr<const engine::EngineSnapshot> latestSnapshot() const override { return m_published; }
  std::int64_t nowNs() const override { return m_nowNs; }

 private:
  struct Running {
    engine::RequestSpec spec;
    FakeReply reply;
    engine::RequestSnapshot view;
    std::size_t nextPiece = 0;
    int prefillDone = 0;
  };

  void handle(const engine::LoadModel& load);
  void handle(const engine::Submit& submit);
  void handle(const engine::Cancel& cancel);
  void handle(const engine::Query& query);
  void stepLoad();
  void stepRequests();
  void stepOne(Running& running, engine::IterationRecord& iteration);
  void finish(Running& running, engine::FinishReason reason, const std::string& explanation);
  void takeBlocks(Running& running);
  void giveBlocks(Running& running);
  engine::MemoryEstimate estimate(const engine::LoadConfig& config) const;

  engine::EngineSnapshot m_state;
  std::shared_ptr<const engine::EngineSnapshot> m_published;
  std::vector<engine::EngineMessage> m_messages;
  std::vector<engine::TraceEvent> m_events;
  std::vector<Running> m_running;
  std::vector<engine::RequestSnapshot> m_finished;
  engine::EngineConfig m_loading;
  int m_loadStep = -1;  // -1 = no load in progress
  int m_stepsAllowed = 0;
  std::int64_t m_nowNs = 0;
  std::uint64_t m_lost = 0, m_step = 0;
};

}  // namespace tests
