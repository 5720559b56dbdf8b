#include "engine/service/beam_stage.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "engine/base/check.h"

namespace engine::service {

using sample::BeamAnswer;
using sample::BeamSearch;

void BeamStage::keep(RequestId id, std::vector<sample::BeamCandidate> candidates) {
  ServedRequest* served = m_session.find(id);
  if (served == nullptr) return;  // cancelled with this step
  for (ChoiceGroup::LiveBeam& beam : served->group->live) {
    if (beam.id == id) beam.candidates = std::move(candidates);
  }
  m_touched.insert(served->root());
}

void BeamStage::advance(std::int64_t nowNs) {
  m_nowNs = nowNs;
  for (const RequestId root : std::exchange(m_touched, {})) {
    std::shared_ptr<ChoiceGroup> group = m_session.groupOf(root);
    if (group && isReady(*group)) step(group);
  }
}

// A beam that was preempted holds nothing to go on from until it has come back.
bool BeamStage::isReady(const ChoiceGroup& group) const {
  const auto isThere = [this](const ChoiceGroup::LiveBeam& beam) {
    const sched::Sequence* sequence = m_session.scheduler().find(beam.id);
    return !beam.candidates.empty() && sequence != nullptr && sequence->isHeld();
  };
  return !group.live.empty() && std::ranges::all_of(group.live, isThere);
}

void BeamStage::step(const std::shared_ptr<ChoiceGroup>& group) {
  std::vector<double> sums;
  std::vector<std::vector<sample::BeamCandidate>> rows;
  for (ChoiceGroup::LiveBeam& beam : group->live) {
    sums.push_back(beam.sum);
    rows.push_back(std::exchange(beam.candidates, {}));
  }
  const ServedRequest& any = *m_session.find(group->live.front().id);
  const auto isEnd = [&](TokenId id) { return any.output.isEnd(id); };
  const BeamSearch::Step step = group->search->choose(sums, rows, isEnd);
  for (const BeamSearch::Move& move : step.ended) {
    BeamAnswer answer;
    OutputText output = m_session.find(group->live[move.beam].id)->output;
    answer.text = group->live[move.beam].text + output.finish();
    answer.reason = FinishReason::Stop;
    answer.endsWithEndToken = true;
    complete(*group, move, std::move(answer));
  }
  std::vector<Survivor> survivors = survivorsOf(*group, step.next);
  const std::int64_t outputs = std::ssize(group->live.front().tokens) + 1;
  if (survivors.empty() || group->search->isDecided(survivors.front().move.sum, outputs)) {
    return m_session.finishBeams(group, FinishReason::Stop);
  }
  goOn(*group, survivors);
}

void BeamStage::complete(ChoiceGroup& group, const BeamSearch::Move& move, BeamAnswer answer) {
  const ChoiceGroup::LiveBeam& beam = group.live[move.beam];
  answer.tokens = beam.tokens;
  answer.tokens.push_back(move.token);
  answer.sum = move.sum;
  record(BranchOp::Finish, beam.id, beam.id, move.token.id, move.sum);
  group.search->add(std::move(answer));
}

std::vector<BeamStage::Survivor> BeamStage::survivorsOf(ChoiceGroup& group,
                                                        const std::vector<BeamSearch::Move>& next) {
  const sample::BeamParams& params = group.search->params();
  std::vector<Survivor> survivors;
  for (const BeamSearch::Move& move : next) {
    const ChoiceGroup::LiveBeam& beam = group.live[move.beam];
    const ServedRequest& served = *m_session.find(beam.id);
    const bool isLast = std::ssize(beam.tokens) + 1 >= params.maxOutputs;
    Survivor one{move, beam.text, served.output};
    const OutputText::Piece piece = one.output.feed(move.token.id);
    one.text += piece.text;
    if (!piece.isStop && !isLast) {
      survivors.push_back(std::move(one));
      continue;
    }
    BeamAnswer answer;
    answer.text = std::move(one.text);
    answer.reason = piece.isStop ? FinishReason::Stop : FinishReason::Length;
    if (!piece.isStop) answer.text += one.output.finish();
    complete(group, move, std::move(answer));
    if (isLast && params.maxOutputs < served.spec.sampling.maxTokens) {
      group.explanation = fmt::format("the answer {}",
                                      reasonText(Reason::FinishedContextFull,
                                                 params.promptTokens + params.maxOutputs, 0));
    }
  }
  return survivors;
}

// The first continuation of a beam goes on in its sequence, the others in forks of it, which are
// made while it still holds; beams without one are pruned.
void BeamStage::goOn(ChoiceGroup& group, std::vector<Survivor>& survivors) {
  std::vector<RequestId> ids(survivors.size());
  std::vector<bool> isTaken(group.live.size(), false);
  std::vector<ChoiceGroup::LiveBeam> live;
  for (std::size_t i = 0; i < survivors.size(); ++i) {
    const std::size_t beam = survivors[i].move.beam;
    if (isTaken[beam]) ids[i] = forkOff(group, survivors[i], static_cast<int>(i));
    isTaken[beam] = true;
  }
  for (std::size_t i = 0; i < survivors.size(); ++i) {
    Survivor& one = survivors[i];
    const ChoiceGroup::LiveBeam& parent = group.live[one.move.beam];
    const bool isFork = !ids[i].isNone();
    const RequestId id = isFork ? ids[i] : parent.id;
    if (!isFork) m_session.scheduler().extend(id, one.move.token.id);
    live.push_back({id, one.move.sum, one.text, parent.tokens, {}});
    live.back().tokens.push_back(one.move.token);
    moveOn(id, parent.id, one, isFork ? BranchOp::Fork : BranchOp::Continue);
  }
  for (std::size_t beam = 0; beam < group.live.size(); ++beam) {
    if (isTaken[beam]) continue;
    const ChoiceGroup::LiveBeam& pruned = group.live[beam];
    record(BranchOp::Prune, pruned.id, pruned.id,
           pruned.tokens.empty() ? -1 : pruned.tokens.back().id, pruned.sum);
    m_session.dropBeam(pruned.id);
  }
  group.live = std::move(live);
}

RequestId BeamStage::forkOff(ChoiceGroup& group, const Survivor& survivor, int choice) {
  const RequestId parent = group.live[survivor.move.beam].id;
  const RequestId child = m_session.addBranch(parent, choice);
  CHECK(m_session.scheduler().fork(parent, child, survivor.move.token.id).isOk());
  return child;
}

void BeamStage::moveOn(RequestId id, RequestId parent, Survivor& survivor, BranchOp op) {
  ServedRequest& served = *m_session.find(id);
  const sample::BeamSearch::Move& move = survivor.move;
  record(op, id, parent, move.token.id, move.sum);
  const std::int64_t position = m_session.scheduler().find(id)->numTokens() - 1;
  m_session.channels().recorder.record(
      TokenRecord{id.value, m_nowNs, move.token.id, static_cast<std::int32_t>(position),
                  move.token.logprob, TokenSource::Target});
  served.history.append(move.token.id);
  served.output = std::move(survivor.output);
  served.cumulativeLogprob = move.sum;
  served.rate.add(m_nowNs, 1);
}

void BeamStage::record(BranchOp op, RequestId id, RequestId parent, TokenId token, double sum) {
  const sched::Sequence* sequence = m_session.scheduler().find(id);
  const std::int64_t position =
      sequence == nullptr ? -1 : sequence->numTokens() - (op == BranchOp::Finish ? 0 : 1);
  m_session.channels().recorder.record(BranchRecord{
      id.value, parent.value, m_nowNs, sum, static_cast<std::int32_t>(position), token, op});
}

}  // namespace engine::service
