// The part of ModelSession that serves requests with several answers.
#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "engine/service/model_session.h"

namespace engine::service {

// Beams share what they have in common or not at all: copies of it would be another search.
Result<void> ModelSession::checkAllocator(const SamplingParams& sampling) const {
  if (sampling.beamWidth == 0 || m_cache.canShare()) return {};
  return Error{ErrorCode::Unsupported,
               fmt::format("beam-width is {}; beams share blocks, which the contiguous allocator "
                           "cannot: use the paged one",
                           sampling.beamWidth)};
}

void ModelSession::openGroup(ServedRequest& served, std::int64_t promptTokens) {
  const SamplingParams& sampling = served.spec.sampling;
  served.group = std::make_shared<ChoiceGroup>(served.root(), sampling);
  served.group->open.push_back(served.root());
  served.group->times = served.times;
  m_groups[served.root()] = served.group;
  if (sampling.beamWidth == 0) return;
  sample::BeamParams params;
  params.width = sampling.beamWidth;
  params.lengthPenalty = sampling.lengthPenalty;
  params.earlyStopping = sampling.earlyStopping;
  params.promptTokens = promptTokens;
  params.maxOutputs = std::min(sampling.maxTokens, m_model.info->maxContext - promptTokens);
  served.group->search.emplace(params);
  served.group->live.push_back({served.root(), 0.0, {}, {}, {}});
}

void ModelSession::cancel(RequestId id) {
  if (cancelPending(id)) return;
  if (const auto found = m_groups.find(id); found != m_groups.end()) {
    const std::shared_ptr<ChoiceGroup> group = found->second;
    group->isCancelled = true;
    if (group->isBeams()) group->completeLive(FinishReason::Cancelled);
    endOpen(group);
    return;
  }
  if (const auto ended = m_scheduler.finish(id, FinishReason::Cancelled)) close(*ended);
}

// Ends the sequences that the scheduler still has; others are about to be closed.
void ModelSession::endOpen(const std::shared_ptr<ChoiceGroup>& group) {
  const std::vector<RequestId> open = group->open;
  for (const RequestId id : open) {
    if (const auto ended = m_scheduler.finish(id, FinishReason::Cancelled)) close(*ended);
  }
}

RequestId ModelSession::addBranch(RequestId parent, int choice) {
  const ServedRequest& source = m_requests.at(parent);
  const RequestId id(m_nextChild++);
  ServedRequest& child = m_requests.try_emplace(id, source).first->second;
  child.parent = parent;
  child.choice = choice;
  child.rate = {};
  child.draftLength = {};
  child.undelivered.clear();
  child.hasUntold = false;
  child.group->open.push_back(id);
  child.group->hasBranched = true;
  return id;
}

void ModelSession::tell(ServedRequest& served,
                        std::string text,
                        std::vector<SampledToken> tokens,
                        std::int64_t timeNs) {
  ChoiceGroup* group = served.group.get();
  if (group != nullptr && !group->isBeams()) {
    ChoiceGroup::Choice& choice = group->choices[static_cast<std::size_t>(served.choice)];
    choice.numTokens += std::ssize(tokens);
    if (group->isRanked) {
      choice.text += text;
      std::move(tokens.begin(), tokens.end(), std::back_inserter(choice.tokens));
      return;
    }
  }
  served.undelivered.push_back(
      TextDelta{served.root(), std::move(text), std::move(tokens), timeNs, served.choice});
}

void ModelSession::dropBeam(RequestId id) {
  const auto ended = m_scheduler.finish(id, FinishReason::Cancelled);
  const auto found = m_requests.find(id);
  CHECK(ended && found != m_requests.end());
  found->second.group->preemptions += ended->preemptions;
  std::erase(found->second.group->open, id);
  record(id, RequestEvent::Finished, Reason::BeamPruned, 0, 0);
  m_requests.erase(found);
}

void ModelSession::finishBeams(const std::shared_ptr<ChoiceGroup>& group, FinishReason reason) {
  if (reason == FinishReason::Length) {
    group->completeLive(reason);
  } else {
    group->live.clear();
  }
  // the search has its answers: the sequences stop because nobody needs them
  const std::vector<RequestId> open = group->open;
  for (const RequestId id : open) {
    if (const auto ended = m_scheduler.finish(id, FinishReason::Stop)) close(*ended);
  }
}

void ModelSession::closeBranch(ServedRequest& served, const sched::FinishedRequest& ended) {
  ChoiceGroup& group = *served.group;
  std::erase(group.open, ended.request);
  group.usage.promptTokens = ended.usage.promptTokens;
  if (served.parent.isNone()) group.usage.cachedTokens = ended.usage.cachedTokens;
  group.preemptions += ended.preemptions;
  const RequestTimes& times = served.times;
  const auto keepFirst = [](std::int64_t& kept, std::int64_t ns) {
    if (kept < 0 || (ns >= 0 && ns < kept)) kept = ns;
  };
  keepFirst(group.times.admittedNs, times.admittedNs);
  keepFirst(group.times.prefilledNs, times.prefilledNs);
  keepFirst(group.times.firstTokenNs, times.firstTokenNs);
  group.times.lastTokenNs = std::max(group.times.lastTokenNs, times.lastTokenNs);
  group.times.finishedNs = std::max(group.times.finishedNs, times.finishedNs);
  if (ended.finish == FinishReason::Failed && !group.failure) {
    group.failure = served.failure.value_or(Error{});
  }
  if (ended.finish == FinishReason::Cancelled && !group.failure) group.isCancelled = true;
  if (ended.finish == FinishReason::Refused) {  // before it became several
    group.isRefused = true;
    group.explanation = explain(served, ended);
  }
  if (group.isBeams()) return;
  ChoiceGroup::Choice& choice = group.choices[static_cast<std::size_t>(served.choice)];
  choice.sum = served.cumulativeLogprob;
  choice.reason = ended.finish;
  choice.explanation = explain(served, ended);
}

// One sequence of the request has ended: with it all others where they may not go on, and the
// request with the last of them.
void ModelSession::settle(const std::shared_ptr<ChoiceGroup>& group) {
  if ((group->failure || group->isCancelled) && !group->isEnding) {
    group->isEnding = true;
    endOpen(group);
  }
  if (!group->open.empty() || group->isTold) return;
  group->isTold = true;
  tellGroup(*group);
  m_groups.erase(group->root);
}

void ModelSession::tellGroup(ChoiceGroup& group) {
  RequestFinished message;
  message.request = group.root;
  message.usage = group.usage;
  message.times = group.times;
  message.preemptions = group.preemptions;
  int index = 0;
  for (ChoiceGroup::Choice& choice : group.toldChoices()) {
    // a sample that was to come has ended with the one it would have split off
    if (choice.reason == FinishReason::None) choice.reason = FinishReason::Cancelled;
    message.choices.push_back({choice.reason, choice.numTokens, choice.sum, choice.score});
    message.usage.completionTokens += choice.numTokens;
    if (index == 0) {
      message.reason = choice.reason;
      message.explanation = choice.explanation;
    }
    if (group.isRanked) {
      m_channels.outbox.push(TextDelta{group.root, std::move(choice.text),
                                       std::move(choice.tokens), group.times.lastTokenNs, index});
    }
    ++index;
  }
  if (group.isCancelled || message.choices.empty()) message.reason = FinishReason::Cancelled;
  if (group.isRefused) {
    message.reason = FinishReason::Refused;
    message.errorCode = ErrorCode::Unsupported;
    message.choices.clear();
  }
  if (group.failure) {
    message.reason = FinishReason::Failed;
    message.errorCode = group.failure->code;
    message.explanation = group.failure->message;
  }
  if (!group.explanation.empty()) message.explanation = group.explanation;
  m_channels.outbox.push(std::move(message));
}

}  // namespace engine::service
