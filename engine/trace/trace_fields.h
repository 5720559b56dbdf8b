// Which members of the engine's plain values a trace file holds, in which order. One line a struct,
// for writing and reading alike; a change here is a new kTraceVersion, and what a version added is
// read from that one on.
#pragma once

#include "engine/trace/byte_archive.h"
#include "engine/trace/trace_record.h"

namespace engine::trace {

// --- enums: a number that is none of theirs is damage

inline bool isKnown(const ByteReader&, DeviceKind v) {
  return v <= DeviceKind::Cuda;
}

inline bool isKnown(const ByteReader&, IsaKind v) {
  return v <= kIsaKinds.back();
}

inline bool isKnown(const ByteReader&, AllocatorKind v) {
  return v <= AllocatorKind::Contiguous;
}

inline bool isKnown(const ByteReader&, KvDType v) {
  return v <= KvDType::Int4;
}

inline bool isKnown(const ByteReader&, BatchingKind v) {
  return v <= BatchingKind::Dynamic;
}

inline bool isKnown(const ByteReader&, PreemptionKind v) {
  return v <= PreemptionKind::Swap;
}

inline bool isKnown(const ByteReader&, PolicyKind v) {
  return v <= PolicyKind::Slo;
}

inline bool isKnown(const ByteReader&, SpeculationKind v) {
  return v <= SpeculationKind::Draft;
}

inline bool isKnown(const ByteReader&, Reason v) {
  return reasonName(v)[0] != '\0';
}

inline bool isKnown(const ByteReader&, FinishReason v) {
  return v <= FinishReason::Failed;
}

inline bool isKnown(const ByteReader&, ErrorCode v) {
  return v >= ErrorCode::InvalidArgument && v <= ErrorCode::Internal;
}

inline bool isKnown(const ByteReader&, Severity v) {
  return v <= Severity::Failure;
}

inline bool isKnown(const ByteReader&, EngineState v) {
  return v <= EngineState::Failed;
}

inline bool isKnown(const ByteReader&, RequestState v) {
  return v <= RequestState::Finished;
}

inline bool isKnown(const ByteReader&, BlockState v) {
  return v <= BlockState::Cached;
}

inline bool isKnown(const ByteReader&, PrefixMiss v) {
  return v <= PrefixMiss::Disabled;
}

inline bool isKnown(const ByteReader&, SlicePhase v) {
  return v <= SlicePhase::Verify;
}

inline bool isKnown(const ByteReader&, TokenSource v) {
  return v <= TokenSource::Bonus;
}

inline bool isKnown(const ByteReader&, BlockOp v) {
  return v <= BlockOp::SwapIn;
}

inline bool isKnown(const ByteReader&, RequestEvent v) {
  return v <= RequestEvent::Cancelled;
}

inline bool isKnown(const ByteReader&, TraceKind v) {
  return v <= TraceKind::Branch;
}

inline bool isKnown(const ByteReader&, BranchOp v) {
  return v <= BranchOp::Finish;
}

// --- configuration and model

template <typename A>
void fields(A& a, LoadConfig& v) {
  a(v.modelPath, v.device, v.isa, v.threads, v.maxContext, v.allocator, v.blockSize,
    v.kvMemoryBytes, v.kvBlocks, v.kvDtype, v.kvCache, v.swapMemoryBytes, v.draftModelPath);
}

template <typename A>
void fields(A& a, SchedulerLimits& v) {
  a(v.batching, v.maxBatch, v.queueDelayMs, v.maxSeqs, v.maxBatchedTokens, v.prefillChunk,
    v.longPrefillThreshold, v.prefixCache, v.preemption, v.policy, v.speculation,
    v.speculativeTokens, v.speculateAdaptive);
}

template <typename A>
void fields(A& a, EngineConfig& v) {
  a(v.load, v.limits);
}

template <typename A>
void fields(A& a, ModelInfo& v) {
  a(v.path, v.name, v.architecture, v.quantisation, v.parameters, v.fileBytes, v.trainedContext,
    v.maxContext, v.vocabSize, v.numLayers, v.numHeads, v.numKvHeads, v.headDim, v.hasChatTemplate,
    v.backend, v.isa, v.isaNote, v.threads, v.kvDtype, v.weightBytes, v.kvBytes, v.scratchBytes,
    v.kvBytesPerToken, v.loadMs, v.draftName, v.draftWeightBytes, v.draftKvBytes);
}

template <typename A>
void fields(A& a, std::shared_ptr<const ModelInfo>& v) {
  bool isThere = v != nullptr;
  a(isThere);
  if constexpr (A::kReads) {
    v.reset();
    if (!isThere) return;
    ModelInfo info;
    a(info);
    v = std::make_shared<const ModelInfo>(std::move(info));
  } else if (isThere) {
    a(*v);
  }
}

template <typename A>
void fields(A& a, TraceHeader& v) {
  a(v.program, v.startNs, v.config, v.model);
}

template <typename A>
void fields(A& a, RequestOpening& v) {
  a(v.request, v.label, v.prompt, v.isConversation, v.maxTokens, v.seed, v.priority);
}

// --- messages

template <typename A>
void fields(A& a, Error& v) {
  a(v.code, v.message);
}

template <typename A>
void fields(A& a, TokenLogprob& v) {
  a(v.id, v.logprob);
}

template <typename A>
void fields(A& a, SampledToken& v) {
  a(v.id, v.logprob, v.rowHash, v.top);
}

template <typename A>
void fields(A& a, Usage& v) {
  a(v.promptTokens, v.completionTokens, v.cachedTokens);
}

template <typename A>
void fields(A& a, RequestTimes& v) {
  a(v.arrivalNs, v.tokenisedNs, v.admittedNs, v.prefilledNs, v.firstTokenNs, v.lastTokenNs,
    v.finishedNs);
}

template <typename A>
void fields(A& a, TextDelta& v) {
  a(v.request, v.text, v.tokens, v.choice);
  a.time(v.timeNs);
}

template <typename A>
void fields(A& a, ChoiceEnd& v) {
  a(v.reason, v.completionTokens, v.cumulativeLogprob, v.score);
}

template <typename A>
void fields(A& a, RequestStarted& v) {
  a(v.request, v.promptIds);
}

template <typename A>
void fields(A& a, RequestFinished& v) {
  a(v.request, v.reason, v.explanation, v.errorCode, v.usage, v.times, v.preemptions,
    v.choices);
}

template <typename A>
void fields(A& a, ModelLoaded& v) {
  a(v.info);
}

template <typename A>
void fields(A&, ModelUnloaded&) {}

template <typename A>
void fields(A& a, LoadFailed& v) {
  a(v.path, v.error);
}

template <typename A>
void fields(A& a, Notice& v) {
  a(v.severity, v.text);
}

// --- snapshots (blocks and block tables are told as changes: snapshot_codec.cpp)

template <typename A>
void fields(A& a, BlockSnapshot& v) {
  a(v.state, v.owner, v.refCount, v.filled, v.logical, v.hash, v.allocatedStep, v.lastUsedStep);
}

template <typename A>
void fields(A& a, RequestSnapshot& v) {
  a(v.id, v.label, v.state, v.reason, v.reasonA, v.reasonB, v.finish, v.promptTokens,
    v.computedTokens, v.totalTokens, v.outputTokens, v.cachedTokens, v.maxTokens, v.preemptions,
    v.times, v.tokensPerSecond, v.parent, v.choice, v.cumulativeLogprob, v.prefixMiss,
    v.prefixMissPosition);
}

template <typename A>
void fields(A& a, Decision& v) {
  a(v.request, v.reason, v.tokens, v.a, v.b);
}

template <typename A>
void fields(A& a, StepSummary& v) {
  a(v.id, v.t0Ns, v.t1Ns, v.budget, v.prefillTokens, v.decodeTokens, v.draftTokens, v.limit,
    v.decisions);
}

template <typename A>
void fields(A& a, PoolSummary& v) {
  a(v.blockSize, v.numBlocks, v.freeBlocks, v.cachedBlocks, v.usedBlocks, v.internalFragmentation,
    v.externalFragmentation);
}

template <typename A>
void fields(A& a, EngineCounters& v) {
  a(v.steps, v.preemptions, v.swaps, v.cowCopies, v.prefixQueries, v.prefixHits, v.evictions,
    v.promptTokens, v.generatedTokens, v.peakBlocks, v.leakedBlocks, v.paddedTokens,
    v.idleSlotSteps, v.usedSlotSteps, v.emptySlotSteps, v.freeBlockSteps, v.strandedBlockSteps, v.lostEvents);
}

template <typename A>
void fields(A& a, SpeculationSummary& v) {
  a(v.passes, v.drafted, v.accepted, v.tokens, v.acceptedByPosition, v.draftedByPosition,
    v.plainMsPerToken, v.speculativeMsPerToken, v.savedMs, v.draftBlocks, v.draftBlocksUsed);
}

// --- events

template <typename A>
void fields(A& a, IterationRecord& v) {
  a.time(v.t0Ns);
  a.time(v.t1Ns);
  a(v.id, v.scheduleNs, v.modelNs, v.sampleNs, v.prefillTokens, v.decodeTokens, v.draftTokens,
    v.running, v.waiting, v.freeBlocks, v.cachedBlocks, v.flops, v.bytes, v.linearOps, v.linearNs,
    v.attentionNs, v.budget, v.limit);
  if (a.version() >= 4) a(v.busyShare);
}

template <typename A>
void fields(A& a, SliceRecord& v) {
  a(v.iteration, v.request, v.tokens, v.kvLength, v.drafted, v.accepted, v.phase);
}

template <typename A>
void fields(A& a, BlockRecord& v) {
  a(v.iteration, v.request, v.hash, v.block, v.logical, v.refCount, v.op);
}

template <typename A>
void fields(A& a, TokenRecord& v) {
  a.time(v.tNs);
  a(v.request, v.id, v.position, v.logprob, v.source);
}

template <typename A>
void fields(A& a, DraftRecord& v) {
  a(v.request, v.position, v.id, v.p, v.q, v.u, v.accepted);
}

template <typename A>
void fields(A& a, RequestRecord& v) {
  a.time(v.tNs);
  a(v.request, v.a, v.b, v.event, v.reason);
}

template <typename A>
void fields(A& a, KnobRecord& v) {
  a.time(v.tNs);
  a(v.oldValue, v.newValue);
  a.text(v.key);
}

template <typename A>
void fields(A& a, BranchRecord& v) {
  a.time(v.tNs);
  a(v.request, v.parent, v.sum, v.position, v.id, v.op);
}

template <typename A>
void fields(A& a, TraceEvent& v) {
  TraceKind kind = v.kind;
  a(kind);
  if constexpr (A::kReads) v.kind = kind;
  const auto member = [&](auto record, auto& place) {
    if constexpr (A::kReads) {
      record = {};
      a(record);
      place = record;
    } else {
      a(place);
    }
  };
  switch (kind) {
    case TraceKind::None:
      break;
    case TraceKind::Iteration:
      return member(IterationRecord{}, v.iteration);
    case TraceKind::Slice:
      return member(SliceRecord{}, v.slice);
    case TraceKind::Block:
      return member(BlockRecord{}, v.block);
    case TraceKind::Token:
      return member(TokenRecord{}, v.token);
    case TraceKind::Draft:
      return member(DraftRecord{}, v.draft);
    case TraceKind::Request:
      return member(RequestRecord{}, v.request);
    case TraceKind::Knob:
      return member(KnobRecord{}, v.knob);
    case TraceKind::Branch:
      return member(BranchRecord{}, v.branch);
  }
}

}  // namespace engine::trace
