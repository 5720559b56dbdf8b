#include "engine/sim/serving_metrics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace engine::sim {

double interpolatedPercentile(std::span<const double> sorted, double fraction) {
  if (sorted.empty()) return 0.0;
  const double at = fraction * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

LatencySummary summarizeLatencies(std::vector<double> values) {
  LatencySummary summary;
  summary.count = static_cast<std::int64_t>(values.size());
  if (values.empty()) return summary;
  std::ranges::sort(values);
  const auto n = static_cast<double>(values.size());
  summary.mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0.0;
  for (double value : values) squares += (value - summary.mean) * (value - summary.mean);
  summary.std = std::sqrt(squares / n);
  summary.median = interpolatedPercentile(values, 0.5);
  summary.p50 = summary.median;
  summary.p90 = interpolatedPercentile(values, 0.90);
  summary.p95 = interpolatedPercentile(values, 0.95);
  summary.p99 = interpolatedPercentile(values, 0.99);
  return summary;
}

namespace {

struct Latencies {
  double ttft, e2el;
  double tpot;  // 0 for one token, as the goodput test takes it
};

Latencies latenciesOf(const RequestTrack& track) {
  const double ttft = track.tokenMs.front() - track.startMs;
  const double e2el = track.tokenMs.back() - track.startMs;
  const double tpot =
      track.outputTokens > 1 ? (e2el - ttft) / static_cast<double>(track.outputTokens - 1) : 0.0;
  return {ttft, e2el, tpot};
}

bool meetsSlo(const RequestTrack& track, const Latencies& latencies) {
  return (!track.slo.ttftMs || latencies.ttft <= *track.slo.ttftMs) &&
         (!track.slo.tpotMs || latencies.tpot <= *track.slo.tpotMs);
}

}  // namespace

ServingMetrics summarizeServing(std::span<const RequestTrack> tracks, double durationMs) {
  ServingMetrics metrics;
  std::vector<double> ttfts, tpots, itls, e2els;
  std::int64_t good = 0;
  bool hasSlo = false;
  for (const RequestTrack& track : tracks) {
    hasSlo = hasSlo || track.slo.ttftMs || track.slo.tpotMs;
    if (!track.isSuccess || track.tokenMs.empty()) {
      ++metrics.failed;
      continue;
    }
    const Latencies latencies = latenciesOf(track);
    ++metrics.completed;
    metrics.totalInputTokens += track.inputTokens;
    metrics.totalOutputTokens += track.outputTokens;
    ttfts.push_back(latencies.ttft);
    e2els.push_back(latencies.e2el);
    if (track.outputTokens > 1) tpots.push_back(latencies.tpot);
    for (std::size_t i = 1; i < track.tokenMs.size(); ++i) {
      itls.push_back(track.tokenMs[i] - track.tokenMs[i - 1]);
    }
    good += meetsSlo(track, latencies);
    durationMs = std::max(durationMs, track.tokenMs.back());
  }
  metrics.durationS = durationMs / 1000.0;
  if (metrics.durationS > 0) {
    metrics.requestThroughput = static_cast<double>(metrics.completed) / metrics.durationS;
    metrics.outputThroughput = static_cast<double>(metrics.totalOutputTokens) / metrics.durationS;
    metrics.totalTokenThroughput =
        static_cast<double>(metrics.totalInputTokens + metrics.totalOutputTokens) / metrics.durationS;
    if (hasSlo) metrics.requestGoodput = static_cast<double>(good) / metrics.durationS;
  }
  metrics.ttft = summarizeLatencies(std::move(ttfts));
  metrics.tpot = summarizeLatencies(std::move(tpots));
  metrics.itl = summarizeLatencies(std::move(itls));
  metrics.e2el = summarizeLatencies(std::move(e2els));
  return metrics;
}

}  // namespace engine::sim
