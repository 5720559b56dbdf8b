// The part of ModelSession that waits for prompts which another thread turns into tokens.
#include <algorithm>
#include <memory>
#include <utility>

#include "engine/service/model_session.h"
#include "engine/service/prompt_encoder.h"

namespace engine::service {

std::function<TokenIds()> ModelSession::accept(RequestSpec spec,
                                               std::int64_t arrivalNs,
                                               std::uint64_t serial) {
  RequestTimes times;
  times.arrivalNs = arrivalNs;
  if (!open(spec, times)) return nullptr;
  const auto given = std::make_shared<RequestSpec>();  // a function is copied, a long text is not
  given->prompt = std::exchange(spec.prompt, TokenPrompt{});
  m_pending.push_back({serial, std::move(spec), times});
  return [given, model = std::make_shared<const LoadedModel>(textPart(m_model))] {
    return tryEncoding([&] { return encodePrompt(*given, *model); });
  };
}

void ModelSession::encoded(std::uint64_t serial, TokenIds promptIds) {
  const auto found = std::ranges::find(m_pending, serial, &PendingPrompt::serial);
  if (found == m_pending.end()) return;
  PendingPrompt pending = std::move(*found);
  m_pending.erase(found);
  if (!promptIds) {
    return refuse(pending.spec, pending.times, promptIds.error(), Reason::RefusedBadInput);
  }
  pending.times.tokenisedNs = m_channels.clock.nowNs();
  enqueue(std::move(pending.spec), std::move(promptIds).value(), pending.times);
}

bool ModelSession::cancelPending(RequestId id) {
  const auto found = std::ranges::find_if(
      m_pending, [&](const PendingPrompt& pending) { return pending.spec.id == id; });
  if (found == m_pending.end()) return false;
  RequestFinished message;
  message.request = id;
  message.reason = FinishReason::Cancelled;
  message.times = found->times;
  message.times.finishedNs = m_channels.clock.nowNs();
  m_pending.erase(found);
  record(id, RequestEvent::Cancelled, Reason::CancelledByUser, 0, 0);
  m_channels.outbox.push(std::move(message));
  return true;
}

void ModelSession::endPending(FinishReason reason, const std::string& sentence) {
  for (const PendingPrompt& pending : std::exchange(m_pending, {})) {
    RequestFinished message =
        refusal(pending.spec.id, pending.times, Error{ErrorCode::Internal, sentence});
    message.reason = reason;
    message.times.finishedNs = m_channels.clock.nowNs();
    m_channels.outbox.push(std::move(message));
  }
}

}  // namespace engine::service
