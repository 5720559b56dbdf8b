// What the engine tells about itself: fixed-size records, complete from the first day, so that every
// view, file and export has one source. Times are nanoseconds of the engine's clock.
#pragma once

#include <cstdint>

#include "engine/api/reason.h"

namespace engine {

enum class TraceKind : std::uint8_t { None, Iteration, Slice, Block, Token, Draft, Request, Knob, Branch };
enum class SlicePhase : std::uint8_t { Prefill, Decode, Verify };
enum class TokenSource : std::uint8_t { Target, Draft, Bonus };
enum class BlockOp : std::uint8_t {
  Allocate, Free, Share, Unshare, CopyOnWrite, Hit, Evict, SwapOut, SwapIn
};
// Continue: a beam goes on with its best candidate. Finish: a beam's candidate ended an answer.
enum class BranchOp : std::uint8_t { Fork, Continue, Prune, Finish };
enum class RequestEvent : std::uint8_t {
  Arrived, Tokenised, Queued, Admitted, Prefilled, FirstToken, Preempted, Resumed, Finished,
  Detokenised, Published, Refused, Cancelled
};

struct IterationRecord {
  std::uint64_t id;
  std::int64_t t0Ns, t1Ns;
  std::uint32_t scheduleNs, modelNs, sampleNs;
  std::uint32_t prefillTokens, decodeTokens, draftTokens;
  std::uint32_t running, waiting, freeBlocks, cachedBlocks;
  double flops, bytes;  // what it costs on ideal hardware: the accounting module
  double linearOps;     // of the linear layers, 2*M*N*K, as the backend counted them
  std::uint32_t linearNs, attentionNs;  // part of modelNs; 0 where the backend does not measure
  std::uint32_t budget;
  Reason limit;
  // How much of the compute threads' time between t0Ns and t1Ns they worked, in ten-thousandths;
  // 0 where it is not known. What the engine's thread does alone is its own work, for which the
  // others wait. A draft model's threads are not among them.
  std::uint16_t busyShare;
};

struct SliceRecord {
  std::uint64_t iteration, request;
  std::uint32_t tokens, kvLength;
  std::uint16_t drafted, accepted;
  SlicePhase phase;
};

struct BlockRecord {
  std::uint64_t iteration, request, hash;
  std::int32_t block, logical;
  std::uint16_t refCount;
  BlockOp op;
};

struct TokenRecord {
  std::uint64_t request;
  std::int64_t tNs;
  std::int32_t id, position;
  float logprob;
  TokenSource source;
};

struct DraftRecord {
  std::uint64_t request;
  std::int32_t position, id;
  float p, q, u;
  std::uint8_t accepted;
};

struct RequestRecord {
  std::uint64_t request;
  std::int64_t tNs;
  std::int64_t a, b;  // numbers of the reason
  RequestEvent event;
  Reason reason;
};

struct KnobRecord {
  std::int64_t tNs;
  double oldValue, newValue;
  char key[32];  // zero-terminated
};

// One branch of a request's tree of sequences: parallel samples and beams.
struct BranchRecord {
  std::uint64_t request, parent;  // Fork: the new one and whom it shares blocks with; else the same
  std::int64_t tNs;
  double sum;                      // log-probabilities of its outputs, `id` included
  std::int32_t position, id;       // of the token that it goes on with; Prune: of its last one
  BranchOp op;
};

struct TraceEvent {
  TraceKind kind = TraceKind::None;
  union {
    IterationRecord iteration;
    SliceRecord slice;
    BlockRecord block;
    TokenRecord token;
    DraftRecord draft;
    RequestRecord request;
    KnobRecord knob;
    BranchRecord branch;
  };

  TraceEvent() : iteration{} {}
  explicit TraceEvent(const IterationRecord& r) : kind(TraceKind::Iteration), iteration(r) {}
  explicit TraceEvent(const SliceRecord& r) : kind(TraceKind::Slice), slice(r) {}
  explicit TraceEvent(const BlockRecord& r) : kind(TraceKind::Block), block(r) {}
  explicit TraceEvent(const TokenRecord& r) : kind(TraceKind::Token), token(r) {}
  explicit TraceEvent(const DraftRecord& r) : kind(TraceKind::Draft), draft(r) {}
  explicit TraceEvent(const RequestRecord& r) : kind(TraceKind::Request), request(r) {}
  explicit TraceEvent(const KnobRecord& r) : kind(TraceKind::Knob), knob(r) {}
  explicit TraceEvent(const BranchRecord& r) : kind(TraceKind::Branch), branch(r) {}
};

static_assert(sizeof(TraceEvent) <= 112, "events live in a ring of tens of thousands");

}  // namespace engine
