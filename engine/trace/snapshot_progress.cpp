#include "engine/trace/snapshot_progress.h"

#include <algorithm>
#include <utility>

namespace engine::trace {

namespace {

FinishReason finishOf(const RequestRecord& record) {
  if (record.event == RequestEvent::Cancelled) return FinishReason::Cancelled;
  if (record.event == RequestEvent::Refused) return FinishReason::Refused;
  if (record.reason == Reason::FinishedStop) return FinishReason::Stop;
  if (record.reason == Reason::FailedStep) return FinishReason::Failed;
  return FinishReason::Length;
}

}  // namespace

void SnapshotProgress::reset(EngineSnapshot snapshot) {
  m_snapshot = std::move(snapshot);
  m_decisions.clear();
}

void SnapshotProgress::open(const RequestOpening& opening) {
  m_openings[opening.request] = opening;
}

void SnapshotProgress::apply(const TraceEvent& event) {
  switch (event.kind) {
    case TraceKind::Iteration:
      return on(event.iteration);
    case TraceKind::Slice:
      return on(event.slice);
    case TraceKind::Block:
      return on(event.block);
    case TraceKind::Token:
      return on(event.token);
    case TraceKind::Request:
      return on(event.request);
    case TraceKind::Branch:
      return on(event.branch);
    case TraceKind::Draft:
    case TraceKind::Knob:
    case TraceKind::None:
      break;
  }
}

RequestSnapshot* SnapshotProgress::find(std::uint64_t request) {
  const auto found =
      std::ranges::find(m_snapshot.requests, RequestId(request), &RequestSnapshot::id);
  return found == m_snapshot.requests.end() ? nullptr : &*found;
}

void SnapshotProgress::on(const IterationRecord& record) {
  StepSummary& step = m_snapshot.lastStep;
  step.id = StepId(record.id);
  step.t0Ns = record.t0Ns;
  step.t1Ns = record.t1Ns;
  step.budget = static_cast<int>(record.budget);
  step.prefillTokens = static_cast<int>(record.prefillTokens);
  step.decodeTokens = static_cast<int>(record.decodeTokens);
  step.draftTokens = static_cast<int>(record.draftTokens);
  step.limit = record.limit;
  step.decisions = std::exchange(m_decisions, {});
  m_snapshot.timeNs = std::max(m_snapshot.timeNs, record.t1Ns);
  m_snapshot.counters.steps += 1;
  if (m_snapshot.pool) {
    PoolSummary& pool = *m_snapshot.pool;
    pool.freeBlocks = record.freeBlocks;
    pool.cachedBlocks = record.cachedBlocks;
    pool.usedBlocks = pool.numBlocks - pool.freeBlocks - pool.cachedBlocks;
  }
}

void SnapshotProgress::on(const SliceRecord& record) {
  const bool isPrefill = record.phase == SlicePhase::Prefill;
  const Reason reason = isPrefill ? Reason::PrefillChunk : Reason::DecodeNext;
  m_decisions.push_back({RequestId(record.request), reason, record.tokens, record.tokens, 0});
  RequestSnapshot* request = find(record.request);
  if (request == nullptr || request->state == RequestState::Finished) return;
  request->computedTokens = record.kvLength;
  request->state = isPrefill ? RequestState::Prefilling : RequestState::Decoding;
  request->reason = reason;
  request->reasonA = record.tokens;
  request->reasonB = 0;
}

void SnapshotProgress::on(const BlockRecord& record) {
  if (record.block < 0 || static_cast<std::size_t>(record.block) >= m_snapshot.blocks.size())
    return;
  BlockSnapshot& block = m_snapshot.blocks[static_cast<std::size_t>(record.block)];
  block.refCount = record.refCount;
  block.hash = record.hash;
  block.lastUsedStep = record.iteration;
  if (record.refCount > 0) {
    if (block.state != BlockState::Used) block.owner = RequestId(record.request);
    block.state = BlockState::Used;
    block.logical = record.logical;
    if (record.op == BlockOp::Allocate) {
      block.owner = RequestId(record.request);
      block.allocatedStep = record.iteration;
      block.filled = 0;
    }
  } else if (record.op == BlockOp::Unshare && record.hash != 0) {
    block.state = BlockState::Cached;  // idle, findable
  } else {
    block = BlockSnapshot{};
  }
}

void SnapshotProgress::on(const TokenRecord& record) {
  m_snapshot.counters.generatedTokens += 1;
  RequestSnapshot* request = find(record.request);
  if (request == nullptr) return;
  request->outputTokens += 1;
  request->totalTokens += 1;
  request->times.lastTokenNs = record.tNs;
}

void SnapshotProgress::on(const RequestRecord& record) {
  RequestSnapshot* request = find(record.request);
  if (request == nullptr) {
    if (record.event == RequestEvent::Arrived) arrive(record);
    return;
  }
  switch (record.event) {
    case RequestEvent::Tokenised:
      request->promptTokens = request->totalTokens = record.a;
      request->times.tokenisedNs = record.tNs;
      break;
    case RequestEvent::Queued:
      request->state = RequestState::Waiting;
      request->reason = record.reason;
      break;
    case RequestEvent::Admitted:
      request->times.admittedNs = record.tNs;
      request->cachedTokens = record.a;
      request->state = RequestState::Prefilling;
      break;
    case RequestEvent::Resumed:
      request->state = RequestState::Prefilling;
      break;
    case RequestEvent::Prefilled:
      request->times.prefilledNs = record.tNs;
      break;
    case RequestEvent::FirstToken:
      request->times.firstTokenNs = record.tNs;
      break;
    case RequestEvent::Preempted:
      return setBack(*request, record);
    case RequestEvent::Finished:
    case RequestEvent::Refused:
    case RequestEvent::Cancelled:
      return end(*request, record);
    case RequestEvent::Arrived:
    case RequestEvent::Detokenised:
    case RequestEvent::Published:
      break;
  }
}

void SnapshotProgress::on(const BranchRecord& record) {
  if (record.op == BranchOp::Fork && find(record.request) == nullptr) {
    const RequestSnapshot* parent = find(record.parent);
    if (parent == nullptr) return;
    RequestSnapshot child = *parent;
    child.id = RequestId(record.request);
    child.parent = RequestId(record.parent);
    child.preemptions = 0;
    m_snapshot.requests.push_back(std::move(child));
  }
  if (RequestSnapshot* request = find(record.request)) request->cumulativeLogprob = record.sum;
}

void SnapshotProgress::arrive(const RequestRecord& record) {
  RequestSnapshot& request = m_snapshot.requests.emplace_back();
  request.id = RequestId(record.request);
  request.state = RequestState::Tokenising;
  request.times.arrivalNs = record.tNs;
  const auto opening = m_openings.find(request.id);
  if (opening == m_openings.end()) return;
  request.label = opening->second.label;
  request.maxTokens = opening->second.maxTokens;
}

void SnapshotProgress::setBack(RequestSnapshot& request, const RequestRecord& record) {
  request.state = RequestState::Preempted;
  request.reason = record.reason;
  request.reasonA = record.a;
  request.reasonB = record.b;
  request.preemptions += 1;
  request.computedTokens = 0;
  request.blocks.clear();
  m_snapshot.counters.preemptions += 1;
}

void SnapshotProgress::end(RequestSnapshot& request, const RequestRecord& record) {
  request.state = RequestState::Finished;
  request.finish = finishOf(record);
  request.reason = record.reason;
  request.reasonA = record.a;
  request.reasonB = record.b;
  request.times.finishedNs = record.tNs;
  request.blocks.clear();
}

}  // namespace engine::trace
