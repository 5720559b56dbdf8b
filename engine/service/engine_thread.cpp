#include "engine/service/engine_thread.h"

#include <algorithm>
#include <exception>
#include <utility>

#include <spdlog/spdlog.h>

#include "engine/service/snapshot_builder.h"

namespace engine::service {

namespace {

// Steps that fail one after another before the fault counts as the engine's and not a request's.
constexpr int kMaxFailuresInARow = 3;
constexpr auto kLongSleep = std::chrono::milliseconds(1000);
constexpr auto kShortSleep = std::chrono::milliseconds(5);  // requests wait, and no time is known
constexpr auto kRateWindow = std::chrono::milliseconds(1001);  // after it the speeds are 0

}  // namespace

EngineThread::EngineThread(EngineParts parts, const EngineOptions& options, SharedState& shared)
    : m_parts(std::move(parts)),
      m_options(options),
      m_shared(shared),
      m_clock(*m_parts.clock),
      m_switch(m_parts.models, [&shared](LoadEvent event) {
        shared.inbox.push({std::move(event), 0});
      }) {}

EngineThread::~EngineThread() = default;

void EngineThread::run(const std::stop_token& stop) {
  publish();
  while (!stop.stop_requested()) {
    try {
      turn();
    } catch (const std::exception& e) {
      latch(e.what());
    }
  }
  m_isStepping = false;  // whoever encodes may hurry
  m_switch.cancel();
  m_session.reset();
}

void EngineThread::turn() {
  takeInputs();
  while (!m_inputs.empty()) {
    EngineInput input = std::move(m_inputs.front());
    m_inputs.pop_front();
    handle(input);
  }
  if (maySteps()) step();
  m_isStepping = maySteps() && m_session->scheduler().hasWork();
  publishIfDue();
}

void EngineThread::takeInputs() {
  std::vector<EngineInput> arrived;
  if (maySteps() && !m_isResting) {
    m_shared.inbox.drain(arrived);
  } else {
    m_shared.inbox.waitAndDrain(arrived, patience());
  }
  if (!arrived.empty()) m_isResting = false;
  std::move(arrived.begin(), arrived.end(), std::back_inserter(m_inputs));
}

std::chrono::milliseconds EngineThread::patience() const {
  if (m_mustPublish) return std::chrono::milliseconds(0);
  const bool waitsForTime = maySteps() && m_session->scheduler().hasWork();
  if (waitsForTime && m_step->wakeAtNs() >= 0) {
    const auto left = std::chrono::nanoseconds(m_step->wakeAtNs() - m_clock.nowNs());
    // an injected clock may move on its own, so look again now and then
    return std::clamp(std::chrono::ceil<std::chrono::milliseconds>(left),
                      std::chrono::milliseconds(0), kShortSleep);
  }
  if (waitsForTime) return kShortSleep;
  return m_showsRates ? kRateWindow : kLongSleep;
}

void EngineThread::handle(EngineInput& input) {
  if (auto* event = std::get_if<LoadEvent>(&input.content)) {
    std::visit([this](auto& e) { on(e); }, *event);
  } else if (auto* encoded = std::get_if<PromptEncoded>(&input.content)) {
    on(*encoded);
  } else if (auto* command = std::get_if<Command>(&input.content)) {
    m_asked = questionOf(*command);
    std::visit([&](auto& c) { on(c, input.sentNs); }, *command);
    m_asked = {};
  }
}

EngineThread::Asked EngineThread::questionOf(const Command& command) {
  if (const auto* submit = std::get_if<Submit>(&command)) return submit->spec.id;
  if (const auto* query = std::get_if<Query>(&command)) return query->id;
  return {};
}

void EngineThread::answerAsked(const Error& error, const std::vector<RequestId>& answered) {
  const Asked asked = std::exchange(m_asked, {});
  if (const auto* query = std::get_if<QueryId>(&asked)) answer(*query, error);
  const auto* request = std::get_if<RequestId>(&asked);
  if (request == nullptr || std::ranges::count(answered, *request) > 0) return;
  m_shared.outbox.push(refusal(*request, {}, error));
}

void EngineThread::latch(const std::string& sentence) {
  spdlog::error("engine: {}", sentence);
  m_failure = sentence;
  m_shared.gate.close();
  m_shared.outbox.push(Notice{Severity::Failure, "the engine stopped: " + sentence});
  // the session is in an unknown state: nothing of it is asked again
  std::vector<RequestId> open;
  if (m_session) open = m_session->openRequests();
  m_step.reset();
  m_session.reset();
  for (const RequestId id : open) {
    RequestFinished message = refusal(id, {}, Error{ErrorCode::Internal, sentence});
    message.reason = FinishReason::Failed;
    m_shared.outbox.push(std::move(message));
  }
  answerAsked(Error{ErrorCode::Internal, "the engine stopped: " + sentence}, open);
  if (!m_switch.isLoading()) releaseHeld("the engine stopped: " + sentence);
  m_isDirty = m_mustPublish = true;
}

bool EngineThread::maySteps() const {
  return m_session != nullptr && m_failure.empty() && (!m_isPaused || m_stepsAllowed > 0);
}

void EngineThread::step() {
  if (!m_session->scheduler().hasWork()) {
    if (!m_isResting) m_isDirty = m_mustPublish = true;  // idle begins
    m_isResting = true;
    m_stepsAllowed = 0;
    return;
  }
  switch (m_step->run()) {
    case StepOutcome::NoWork:
      m_isResting = true;
      m_isDirty = true;
      return;
    case StepOutcome::Interrupted:
      break;
    case StepOutcome::Failed:
      countFailure();
      break;
    case StepOutcome::Committed:
      m_failuresInARow = 0;
      if (m_isPaused) {
        --m_stepsAllowed;
        m_mustPublish = true;
      }
      break;
  }
  m_isResting = false;
  m_isDirty = true;
}

void EngineThread::countFailure() {
  const Error error = m_step->error();
  spdlog::warn("engine: a step failed: {}", error.message);
  if (error.code == ErrorCode::CorruptFile) {  // the model's fault alone, and that of every step
    return m_session->endAll(FinishReason::Failed, error.message);
  }
  if (++m_failuresInARow < kMaxFailuresInARow) return;
  m_session->endAll(FinishReason::Failed, error.message);
  latch(error.message);
}

EngineState EngineThread::state() const {
  if (!m_failure.empty()) return EngineState::Failed;
  if (!m_session) return m_switch.isLoading() ? EngineState::Loading : EngineState::NoModel;
  if (m_isPaused) return EngineState::Paused;
  const bool hasWork = m_session->scheduler().hasWork() || !m_session->pendingPrompts().empty();
  return hasWork ? EngineState::Running : EngineState::Idle;
}

void EngineThread::addHeld(EngineSnapshot& snapshot) const {
  for (const HeldSubmit& held : m_held) {
    snapshot.requests.push_back(tokenisingSnapshot(held.spec, held.arrivalNs));
  }
}

void EngineThread::publish() {
  auto snapshot = std::make_shared<EngineSnapshot>();
  snapshot->version = ++m_version;
  snapshot->timeNs = m_clock.nowNs();
  snapshot->numEvents = m_shared.recorder.numRecorded();
  snapshot->state = state();
  snapshot->failure = m_failure;
  snapshot->config = m_config;
  if (m_session) addSession(*snapshot, *m_session, *m_step);
  addHeld(*snapshot);
  if (m_isPaused) {
    for (RequestSnapshot& request : snapshot->requests) {
      if (request.reason == Reason::WaitsStart) request.reason = Reason::WaitsPaused;
    }
  }
  m_showsRates = snapshot->decodeTokensPerSecond > 0 || snapshot->prefillTokensPerSecond > 0;
  m_publishedNs = snapshot->timeNs;
  m_isDirty = m_mustPublish = false;
  m_shared.snapshot.set(std::move(snapshot));
}

void EngineThread::publishIfDue() {
  const std::int64_t sinceNs = m_clock.nowNs() - m_publishedNs;
  const bool isFading =
      m_showsRates && m_isResting && sinceNs >= std::chrono::nanoseconds(kRateWindow).count();
  if (m_mustPublish || isFading || (m_isDirty && sinceNs >= m_options.snapshotIntervalNs))
    publish();
}

}  // namespace engine::service
