// A front end for tests: sends commands, gathers what comes back by request, waits with a limit.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/api/engine_handle.h"

namespace test_support {

struct ClientAnswer {
  std::vector<engine::TokenId> ids;
  std::vector<float> logprobs;
  std::vector<std::uint64_t> rowHashes;
  std::vector<std::vector<engine::TokenLogprob>> top;
  std::string text;
  std::vector<std::string> pieces;
};

// Of several answers the first is its own.
struct ClientRequest : ClientAnswer {
  bool isStarted = false;
  std::vector<engine::TokenId> promptIds;
  std::vector<ClientAnswer> others;  // answers 1, 2, ...
  int numFinished = 0;  // must become exactly 1
  engine::RequestFinished finished;
};

// One thread.
class EngineClient {
 public:
  explicit EngineClient(std::unique_ptr<engine::EngineHandle> engine)
      : m_engine(std::move(engine)) {}

  engine::EngineHandle& engine() { return *m_engine; }

  // Destroys the engine; what was gathered stays.
  void shutDown() { m_engine.reset(); }

  void send(engine::Command command) { m_engine->submit(std::move(command)); }

  // True when the model came; loadError() says why not.
  bool load(const engine::EngineConfig& config);
  engine::RequestId submit(engine::RequestSpec spec);  // gives it the next id
  engine::RequestId submit(const std::string& prompt, const engine::SamplingParams& sampling);

  // Takes what came, then asks; false when `limitMs` passed first.
  bool waitFor(const std::function<bool()>& isTrue, int limitMs = 20'000);
  bool waitForEnd(engine::RequestId id, int limitMs = 20'000);
  bool waitForAll(int limitMs = 60'000);  // every request sent so far
  // In a snapshot that knows of every end told so far: an older one may say the same of before.
  bool waitForState(engine::EngineState state, int limitMs = 20'000);
  void take();

  const ClientRequest& request(engine::RequestId id) { return m_requests[id]; }

  const std::map<engine::RequestId, ClientRequest>& requests() const { return m_requests; }

  std::shared_ptr<const engine::EngineSnapshot> snapshot() const {
    return m_engine->latestSnapshot();
  }

  std::vector<engine::TraceEvent> events;
  std::vector<engine::Notice> notices;
  std::vector<engine::LoadFailed> loadFailures;
  std::vector<engine::LoadProgress> progress;
  std::vector<std::string> loadedPaths;
  int numUnloaded = 0;
  std::map<engine::QueryId, engine::QueryAnswer> answers;

 private:
  void on(engine::TextDelta& message);
  void on(engine::RequestStarted& message);
  void on(engine::RequestFinished& message);

  void on(engine::LoadProgress& message) { progress.push_back(message); }

  void on(engine::ModelLoaded& message) { loadedPaths.push_back(message.info->path); }

  void on(engine::ModelUnloaded&) { ++numUnloaded; }

  void on(engine::LoadFailed& message) { loadFailures.push_back(message); }

  void on(engine::QueryAnswer& message) { answers[message.id] = message; }

  void on(engine::Notice& message) { notices.push_back(message); }

  std::unique_ptr<engine::EngineHandle> m_engine;
  std::map<engine::RequestId, ClientRequest> m_requests;
  std::uint64_t m_nextId = 1;
  std::int64_t m_lastEndNs = 0;  // on the engine's clock
};

// A raw text prompt with these parameters.
engine::RequestSpec textRequest(const std::string& prompt, const engine::SamplingParams& sampling);

}  // namespace test_support
