// The figures of a serving run, defined exactly as vLLM's benchmark defines them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/api/request.h"

namespace engine::sim {

// One request as its client saw it. Times in ms from the start of the run.
struct RequestTrack {
  double startMs = 0;  // sent
  std::vector<double> tokenMs;  // arrival of each counted chunk of output
  std::int64_t inputTokens = 0, outputTokens = 0;
  bool isSuccess = false;
  SloTarget slo;
};

// Mean, median, population standard deviation and percentiles by linear interpolation; ms.
struct LatencySummary {
  double mean = 0, median = 0, std = 0, p50 = 0, p90 = 0, p95 = 0, p99 = 0;
  std::int64_t count = 0;
};

struct ServingMetrics {
  double durationS = 0;
  std::int64_t completed = 0, failed = 0, totalInputTokens = 0, totalOutputTokens = 0;
  double requestThroughput = 0, outputThroughput = 0, totalTokenThroughput = 0;  // per second
  // Successful requests per second that met all their SLOs; empty when no request had any.
  std::optional<double> requestGoodput;
  LatencySummary ttft, tpot, itl, e2el;
};

// ttft: first chunk - start. e2el: last chunk - start. tpot: (e2el - ttft) / (outputTokens - 1), requests
// of one token left out. itl: gaps between chunks, of all requests together. Only successes count.
// duration: from 0 to the last chunk of any request, or `durationMs` when that is longer.
ServingMetrics summarizeServing(std::span<const RequestTrack> tracks, double durationMs);

LatencySummary summarizeLatencies(std::vector<double> values);

// values sorted ascending; fraction 0..1.
double interpolatedPercentile(std::span<const double> sorted, double fraction);

}  // namespace engine::sim
