// A live engine with one model for the length of a command: submits requests, gathers what comes
// back.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "app/cli/cli_io.h"
#include "engine/api/engine_handle.h"
#include "engine/base/cancel_token.h"

namespace app::cli {

// What came back of one answer to a request.
struct AnswerText {
  std::string text;
  std::vector<engine::SampledToken> tokens;
  std::vector<std::int64_t> chunkNs;  // when tokens came, engine clock; a step may give several
};

// Everything that came back for one request: of several answers, the first is its own.
struct Answer : AnswerText {
  std::vector<engine::TokenId> promptIds;
  std::vector<AnswerText> others;  // answers 1, 2, ...
  std::optional<engine::RequestFinished> finished;

  std::size_t numChoices() const { return 1 + others.size(); }

  const AnswerText& choice(std::size_t index) const {
    return index == 0 ? static_cast<const AnswerText&>(*this) : others[index - 1];
  }

  engine::FinishReason reason() const {
    return finished ? finished->reason : engine::FinishReason::Cancelled;
  }

  // The engine turned it down or could not go on: `finished` says why.
  bool isRefusedOrFailed() const {
    return reason() == engine::FinishReason::Refused || reason() == engine::FinishReason::Failed;
  }
};

// Text of a request as it comes.
using TextSink = std::function<void(engine::RequestId, std::string_view)>;

// One thread. When `cancel` rises, all requests are cancelled and end as usual.
class EngineSession {
 public:
  // Starts an engine and loads. Cancelled when the token rose before the model was there.
  // tracePath: where the run is written down; empty = nowhere.
  static engine::Result<std::unique_ptr<EngineSession>> open(const engine::EngineConfig& config,
                                                             const engine::CancelToken& cancel,
                                                             const std::string& tracePath = {});

  const engine::ModelInfo& model() const { return *m_model; }

  void onText(TextSink sink) { m_sink = std::move(sink); }

  // Gives it the next id.
  engine::RequestId submit(engine::RequestSpec spec);
  void cancelAll();

  // Between pause and resume submitted requests gather, so that they start in one step.
  void pause() { m_engine->submit(engine::Pause{}); }

  void resume() { m_engine->submit(engine::Resume{}); }

  // Takes what came; returns at once.
  void take();
  // Takes until `isTrue` or until all requests have ended; sees it some ms late.
  void waitUntil(const std::function<bool()>& isTrue);
  void waitForAll();
  // Takes until the engine's clock says so or, in vain, until `cancel` has risen.
  void waitUntilTime(std::int64_t ns);

  bool isCancelled() const { return m_isCancelled; }

  std::size_t numOpen() const { return m_numOpen; }

  const Answer& answer(engine::RequestId id) const { return m_answers.at(id); }

  // Forgets a request that has ended.
  void forget(engine::RequestId id) { m_answers.erase(id); }

  // The state after the last step; waits until the engine rests. For when all requests have ended.
  std::shared_ptr<const engine::EngineSnapshot> restingSnapshot();

  // Trace events since the last call, and whether any were lost since the start.
  std::vector<engine::TraceEvent> takeEvents();

  bool hasLostEvents() const { return m_engine->numLostEvents() > 0; }

  std::int64_t nowNs() const { return m_engine->nowNs(); }

  // Warnings of the engine and notes on the backend, one line each.
  const std::vector<std::string>& notices() const { return m_notices; }

 private:
  EngineSession(std::unique_ptr<engine::EngineHandle> engine, const engine::CancelToken& cancel);

  engine::Result<void> load(const engine::EngineConfig& config);
  void heedCancel();
  void on(engine::TextDelta& message);
  void on(engine::RequestStarted& message);
  void on(engine::RequestFinished& message);
  void on(engine::ModelLoaded& message);

  void on(engine::LoadFailed& message) { m_loadError = message.error; }

  void on(engine::Notice& message) { m_notices.push_back(message.text); }

  void on(engine::LoadProgress&) {}

  void on(engine::ModelUnloaded&) {}

  void on(engine::QueryAnswer&) {}

  std::unique_ptr<engine::EngineHandle> m_engine;
  const engine::CancelToken& m_cancel;
  std::shared_ptr<const engine::ModelInfo> m_model;
  std::optional<engine::Error> m_loadError;
  TextSink m_sink;
  std::unordered_map<engine::RequestId, Answer> m_answers;
  std::vector<engine::EngineMessage> m_messages;
  std::vector<std::string> m_notices;
  std::uint64_t m_nextId = 1;
  std::size_t m_numOpen = 0;
  std::int64_t m_lastEndNs = 0;
  bool m_isCancelled = false;
};

}  // namespace app::cli
