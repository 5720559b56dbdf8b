#include "app/cli/engine_session.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <thread>
#include <utility>
#include <variant>

#include "app/cli/cli.h"
#include "engine/service/engine_service.h"
#include "engine/service/gguf_model_provider.h"
#include "engine/service/packed_folder.h"
#include "engine/trace/recording_handle.h"

namespace app::cli {

using namespace engine;

namespace {

// Sleeps between two looks: each twice as long as the one before. Whoever looks takes a processor
// from the engine's threads: at a look every 0.5 ms, 8 users' threads were sent away 15 times a step.
class Naps {
 public:
  void take(std::chrono::nanoseconds most = kLongest) {
    std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(m_next, most));
    m_next = std::min(2 * m_next, kLongest);
  }

 private:
  static constexpr std::chrono::microseconds kFirst{100}, kLongest{5000};
  std::chrono::microseconds m_next = kFirst;
};

// Nobody looks at snapshots while steps run; the last one comes when the engine rests.
constexpr std::int64_t kSnapshotIntervalNs = 1'000'000'000;
constexpr std::int64_t kTracedIntervalNs = 100'000'000;  // key frames of a recording

}  // namespace

Result<std::unique_ptr<EngineSession>> EngineSession::open(const EngineConfig& config,
                                                           const CancelToken& cancel,
                                                           const std::string& tracePath) {
  service::EngineParts parts;
  parts.models =
      std::make_shared<service::GgufModelProvider>(TRY(service::packedFolderOfEnvironment()));
  service::EngineOptions options;
  options.snapshotIntervalNs = tracePath.empty() ? kSnapshotIntervalNs : kTracedIntervalNs;
  auto engine = service::createEngineService(std::move(parts), options);
  if (!tracePath.empty()) {
    engine = TRY(trace::recordEngine(std::move(engine), tracePath, kVersion));
  }
  std::unique_ptr<EngineSession> session(new EngineSession(std::move(engine), cancel));
  TRY_VOID(session->load(config));
  return session;
}

EngineSession::EngineSession(std::unique_ptr<EngineHandle> engine, const CancelToken& cancel)
    : m_engine(std::move(engine)), m_cancel(cancel) {}

Result<void> EngineSession::load(const EngineConfig& config) {
  m_engine->submit(LoadModel{config});
  Naps naps;
  while (!m_model && !m_loadError) {
    if (m_cancel.isCancelled() && !m_isCancelled) {
      m_isCancelled = true;
      m_engine->submit(CancelLoad{});
    }
    naps.take();
    take();
  }
  if (m_isCancelled) return Error{ErrorCode::Cancelled, "cancelled while the model was loading"};
  if (m_loadError) return *m_loadError;
  if (!m_model->isaNote.empty()) m_notices.push_back(m_model->isaNote);
  return {};
}

RequestId EngineSession::submit(RequestSpec spec) {
  spec.id = RequestId(m_nextId++);
  const RequestId id = spec.id;
  m_answers[id];
  ++m_numOpen;
  m_engine->submit(Submit{std::move(spec)});
  return id;
}

void EngineSession::cancelAll() {
  for (const auto& [id, answer] : m_answers) {
    if (!answer.finished) m_engine->submit(Cancel{id});
  }
}

void EngineSession::take() {
  m_engine->drainMessages(m_messages);
  for (EngineMessage& message : m_messages) {
    std::visit([this](auto& m) { on(m); }, message);
  }
  m_messages.clear();
}

void EngineSession::heedCancel() {
  if (!m_cancel.isCancelled() || m_isCancelled) return;
  m_isCancelled = true;
  cancelAll();
}

void EngineSession::waitUntil(const std::function<bool()>& isTrue) {
  Naps naps;
  for (take(); m_numOpen > 0 && !isTrue(); take()) {
    heedCancel();
    naps.take();
  }
  // it may have risen between two looks
  m_isCancelled = m_isCancelled || m_cancel.isCancelled();
}

void EngineSession::waitForAll() {
  waitUntil([] { return false; });
}

void EngineSession::waitUntilTime(std::int64_t ns) {
  Naps naps;
  for (take(); nowNs() < ns && !m_isCancelled; take()) {
    heedCancel();
    naps.take(std::chrono::nanoseconds(ns - nowNs()));
  }
}

std::shared_ptr<const EngineSnapshot> EngineSession::restingSnapshot() {
  for (Naps naps;; naps.take()) {
    auto snapshot = m_engine->latestSnapshot();
    const bool isResting = snapshot && snapshot->state != EngineState::Running;
    if (isResting && snapshot->timeNs >= m_lastEndNs) return snapshot;
  }
}

std::vector<TraceEvent> EngineSession::takeEvents() {
  std::vector<TraceEvent> events;
  m_engine->drainEvents(events);
  return events;
}

void EngineSession::on(TextDelta& message) {
  Answer& whole = m_answers[message.request];
  const auto index = static_cast<std::size_t>(message.choice);
  if (whole.others.size() < index) whole.others.resize(index);
  AnswerText& answer = index == 0 ? static_cast<AnswerText&>(whole) : whole.others[index - 1];
  answer.text += message.text;
  if (!message.tokens.empty()) answer.chunkNs.push_back(message.timeNs);
  std::move(message.tokens.begin(), message.tokens.end(), std::back_inserter(answer.tokens));
  if (m_sink && !message.text.empty()) m_sink(message.request, message.text);
}

void EngineSession::on(RequestStarted& message) {
  m_answers[message.request].promptIds = std::move(message.promptIds);
}

void EngineSession::on(RequestFinished& message) {
  m_lastEndNs = std::max(m_lastEndNs, message.times.finishedNs);
  Answer& answer = m_answers[message.request];
  if (!answer.finished) --m_numOpen;
  answer.finished = std::move(message);
}

void EngineSession::on(ModelLoaded& message) {
  m_model = std::move(message.info);
}

}  // namespace app::cli
