// What happened in a recorded run: figures of the whole, of its iterations and of each request.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/trace/trace_file.h"

namespace engine::trace {

// A stretch of a request's life; engine clock.
enum class SpanKind : std::uint8_t { Queued, Prefill, Decode, Verify, Preempted };

struct RequestSpan {
  SpanKind kind = SpanKind::Queued;
  std::int64_t t0Ns = 0, t1Ns = 0;
  std::uint64_t iteration = 0;  // of Prefill, Decode and Verify
  std::uint32_t tokens = 0, kvLength = 0;
};

struct AnswerSummary {
  std::string text;
  std::vector<TokenId> ids;
};

// The first of a request's answers, and the others beside it.
struct RequestSummary : AnswerSummary {
  RequestId id;
  std::string label;
  FinishReason reason = FinishReason::None;  // None: still open at the end
  std::string explanation;
  Usage usage;
  RequestTimes times;
  int preemptions = 0;
  std::vector<AnswerSummary> others;  // answers 1, 2, ...; of ranked ones, by rank
  std::vector<ChoiceEnd> choices;     // how each answer ended; empty when one was asked for
  std::vector<RequestSpan> spans;     // by begin; of its first sequence
};

// A further sequence of a request for several answers: a sample or a beam, and no request of its own.
struct BranchSummary {
  RequestId id;
  RequestId request;               // none where the record of its beginning was lost
  std::vector<RequestSpan> spans;  // by begin
};

struct TraceSummary {
  std::vector<IterationRecord> iterations;
  std::vector<RequestSummary> requests;  // by first mention
  std::vector<BranchSummary> branches;   // likewise
  std::uint64_t promptTokens = 0, generatedTokens = 0, preemptions = 0, lostEvents = 0;
  // Of everything but times: equal for two runs of one workload with one seed and the same knobs.
  std::uint64_t fingerprint = 0;
};

TraceSummary summariseTrace(const Trace& trace);

const char* spanName(SpanKind kind);  // "queued", "prefill", ...

}  // namespace engine::trace
