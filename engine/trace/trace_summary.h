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

struct RequestSummary {
  RequestId id;
  std::string label;
  FinishReason reason = FinishReason::None;  // None: still open at the end
  std::string explanation;
  Usage usage;
  RequestTimes times;
  int preemptions = 0;
  std::string text;
  std::vector<TokenId> ids;
  std::vector<RequestSpan> spans;  // by begin
};

struct TraceSummary {
  std::vector<IterationRecord> iterations;
  std::vector<RequestSummary> requests;  // by first mention
  std::uint64_t promptTokens = 0, generatedTokens = 0, preemptions = 0, lostEvents = 0;
  // Of everything but times: equal for two runs of one workload with one seed and the same knobs.
  std::uint64_t fingerprint = 0;
};

TraceSummary summariseTrace(const Trace& trace);

const char* spanName(SpanKind kind);  // "queued", "prefill", ...

}  // namespace engine::trace
