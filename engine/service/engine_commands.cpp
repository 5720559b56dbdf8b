// What each command and each report of a load does; the loop that calls them is engine_thread.cpp.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "engine/base/pace.h"
#include "engine/service/engine_thread.h"
#include "engine/service/limit_changes.h"
#include "engine/service/prompt_encoder.h"
#include "engine/service/servable_config.h"

namespace engine::service {

namespace {

constexpr const char* kNoModel = "no model is loaded";

}  // namespace

// --- loads

void EngineThread::on(LoadModel& command, std::int64_t) {
  if (const Result<void> checked = checkServable(command.config); !checked) {
    m_shared.outbox.push(LoadFailed{command.config.load.modelPath, checked.error()});
    return;
  }
  if (m_switch.isLoading()) failLoad({ErrorCode::Cancelled, "another model was chosen"});
  m_switch.open(command.config);
  m_isDirty = m_mustPublish = true;
}

void EngineThread::on(CancelLoad&, std::int64_t) {
  if (!m_switch.isLoading()) return;
  failLoad({ErrorCode::Cancelled, "loading was stopped"});
  releaseHeld("loading the model was stopped");
}

void EngineThread::on(UnloadModel&, std::int64_t) {
  if (m_switch.isLoading()) failLoad({ErrorCode::Cancelled, "loading was stopped"});
  endSession("the model was unloaded");
  releaseHeld(kNoModel);
}

void EngineThread::on(LoadAdvanced& event) {
  if (m_switch.isCurrent(event.serial)) {
    m_shared.outbox.push(LoadProgress{std::move(event.stage), event.fraction, event.totalBytes});
  }
}

void EngineThread::on(ModelOpened& event) {
  if (!m_switch.isCurrent(event.serial)) return;
  if (!event.result) {
    failLoad(event.result.error());
    releaseHeld(fmt::format("the model could not be loaded: {}", event.result.error().message));
    return;
  }
  endSession("another model was loaded");
  m_switch.load(std::move(event.result).value());
  m_isDirty = m_mustPublish = true;
}

void EngineThread::on(LoadEnded& event) {
  if (!m_switch.isCurrent(event.serial)) return;
  if (!event.result) {
    failLoad(event.result.error());
    releaseHeld(fmt::format("the model could not be loaded: {}", event.result.error().message));
    return;
  }
  if (m_hasServed) {  // before the first model there was nothing to change
    for (const LimitChange& change : changesBetween(m_config.load, m_switch.config().load)) {
      m_shared.recorder.recordKnob(m_clock.nowNs(), change.knob, change.oldValue, change.newValue);
    }
  }
  m_hasServed = true;
  m_config = m_switch.config();
  m_switch.finish();
  m_failure.clear();
  m_failuresInARow = 0;
  m_session =
      std::make_unique<ModelSession>(std::move(event.result).value(), m_config,
                                     SessionChannels{m_clock, m_shared.recorder, m_shared.outbox});
  m_step = std::make_unique<EngineStep>(
      *m_session, m_shared.gate, [this] { return !m_shared.inbox.isEmpty(); },
      m_options.checkInvariants);
  publish();  // first, so that whoever is told of the model finds it in the snapshot
  m_shared.outbox.push(ModelLoaded{m_session->model().info});
  releaseHeld(kNoModel);
}

void EngineThread::failLoad(const Error& error) {
  m_shared.outbox.push(LoadFailed{m_switch.config().load.modelPath, error});
  m_switch.cancel();
  m_isDirty = m_mustPublish = true;
}

void EngineThread::endSession(const std::string& sentence) {
  if (!m_session) return;
  m_session->endAll(FinishReason::Cancelled, sentence);
  m_step.reset();
  m_session.reset();
  publish();  // first, as when one was loaded
  m_shared.outbox.push(ModelUnloaded{});
}

void EngineThread::releaseHeld(const std::string& whyNoModel) {
  // one leaves the list before it is served, so that an exception loses none of the others
  while (!m_held.empty()) {
    HeldSubmit held = std::move(m_held.front());
    m_held.erase(m_held.begin());
    m_asked = held.spec.id;
    if (m_session) {
      m_session->submit(std::move(held.spec), held.arrivalNs);
      continue;
    }
    RequestTimes times;
    times.arrivalNs = held.arrivalNs;
    times.finishedNs = m_clock.nowNs();
    m_shared.outbox.push(refusal(held.spec.id, times, Error{ErrorCode::NotFound, whyNoModel}));
  }
  m_asked = {};
  m_isDirty = m_mustPublish = true;
}

// --- requests

void EngineThread::on(Submit& command, std::int64_t sentNs) {
  m_isDirty = true;
  if (m_switch.isLoading()) {  // it is meant for the model that comes
    m_held.push_back({std::move(command.spec), sentNs});
    return;
  }
  if (m_session && m_failure.empty()) return submit(std::move(command.spec), sentNs);
  RequestTimes times;
  times.arrivalNs = sentNs;
  times.finishedNs = m_clock.nowNs();
  const Error why = m_failure.empty()
                        ? Error{ErrorCode::NotFound, kNoModel}
                        : Error{ErrorCode::Internal, "the engine stopped: " + m_failure};
  m_shared.outbox.push(refusal(command.spec.id, times, why));
}

// A long prompt must not hold up the steps of others. Without steps nobody waits: then it is turned
// into tokens here, at once, so that what a paused engine does next depends on no other thread.
void EngineThread::submit(RequestSpec spec, std::int64_t sentNs) {
  if (!m_isStepping || !isLong(spec.prompt)) return m_session->submit(std::move(spec), sentNs);
  const std::uint64_t serial = ++m_lastPrompt;
  const RequestId id = spec.id;
  auto encode = m_session->accept(std::move(spec), sentNs, serial);
  if (!encode) return;
  m_encodings.run([this, id, serial, encode] {
    const Pace pace(m_isStepping);
    m_shared.inbox.push({PromptEncoded{id, serial, encode()}, 0});
  });
}

void EngineThread::on(PromptEncoded& encoded) {
  m_isDirty = true;
  m_asked = encoded.request;
  if (m_session) m_session->encoded(encoded.serial, std::move(encoded.ids));
  m_asked = {};
}

void EngineThread::on(Cancel& command, std::int64_t) {
  m_isDirty = true;
  if (m_session) m_session->cancel(command.id);
  const auto held =
      std::ranges::find_if(m_held, [&](const HeldSubmit& h) { return h.spec.id == command.id; });
  if (held == m_held.end()) return;
  RequestFinished message;
  message.request = command.id;
  message.reason = FinishReason::Cancelled;
  message.times.arrivalNs = held->arrivalNs;
  message.times.finishedNs = m_clock.nowNs();
  m_shared.outbox.push(std::move(message));
  m_held.erase(held);
}

// --- knobs and gates

void EngineThread::on(SetLimits& command, std::int64_t) {
  Result<void> checked = checkServable(command.limits);
  // without a model the draft may still come with the next one
  if (checked && m_session) checked = checkTogether({m_config.load, command.limits});
  if (!checked) {
    m_shared.outbox.push(Notice{Severity::Warning, checked.error().message});
    return;
  }
  for (const LimitChange& change : changesBetween(m_config.limits, command.limits)) {
    m_shared.recorder.recordKnob(m_clock.nowNs(), change.knob, change.oldValue, change.newValue);
  }
  m_config.limits = command.limits;
  if (m_session) m_session->scheduler().setLimits(command.limits);
  m_isDirty = m_mustPublish = true;
}

void EngineThread::on(Pause&, std::int64_t) {
  m_isPaused = true;
  m_stepsAllowed = 0;
  m_isDirty = m_mustPublish = true;
}

void EngineThread::on(Resume&, std::int64_t) {
  m_isPaused = false;
  m_isDirty = m_mustPublish = true;
}

void EngineThread::on(StepOnce& command, std::int64_t) {
  if (m_isPaused) m_stepsAllowed += std::max(0, command.count);
}

// --- questions

void EngineThread::on(Query& query, std::int64_t) {
  if (const auto* estimated = std::get_if<EstimateQuery>(&query.question)) {
    return estimate(query.id, estimated->config);
  }
  if (!m_session) {
    return answer(query.id, Error{ErrorCode::NotFound, m_failure.empty() ? kNoModel : m_failure});
  }
  if (auto* count = std::get_if<CountTokensQuery>(&query.question)) {
    return encode(query.id, std::move(count->conversation));
  }
  encode(query.id, TextPrompt{std::move(std::get<TokenizeQuery>(query.question).text)});
}

// As a submitted prompt, but that no tokens are an answer, too.
void EngineThread::encode(QueryId id, Prompt prompt) {
  const bool isBesideSteps = m_isStepping && isLong(prompt);
  const auto model = std::make_shared<const LoadedModel>(textPart(m_session->model()));
  const auto encoding = [model, given = std::make_shared<const Prompt>(std::move(prompt))] {
    return tryEncoding([&] { return encodeAny(*given, *model); });
  };
  if (!isBesideSteps) return answer(id, encoding());
  m_encodings.run([this, id, encoding] {
    const Pace pace(m_isStepping);
    answer(id, encoding());
  });
}

void EngineThread::answer(QueryId id, TokenIds result) {
  if (result) {
    m_shared.outbox.push(QueryAnswer{id, std::move(result).value()});
  } else {
    m_shared.outbox.push(QueryAnswer{id, result.error()});
  }
}

void EngineThread::estimate(QueryId id, const LoadConfig& config) {
  // reading a file's tables takes a while: not on this thread
  m_estimates.run([provider = m_parts.models, &outbox = m_shared.outbox, id, config] {
    auto result = provider->estimate(config);
    if (result) {
      outbox.push(QueryAnswer{id, std::move(result).value()});
    } else {
      outbox.push(QueryAnswer{id, result.error()});
    }
  });
}

}  // namespace engine::service
