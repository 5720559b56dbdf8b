#include "app/cli/metrics_json.h"

namespace app::cli {

namespace {

using engine::sim::LatencySummary;
using engine::sim::RequestTrack;
using engine::sim::ServingMetrics;

void addSummary(Json& metrics, const std::string& name, const LatencySummary& summary) {
  metrics["mean_" + name + "_ms"] = summary.mean;
  metrics["median_" + name + "_ms"] = summary.median;
  metrics["std_" + name + "_ms"] = summary.std;
  metrics["p90_" + name + "_ms"] = summary.p90;
  metrics["p95_" + name + "_ms"] = summary.p95;
  metrics["p99_" + name + "_ms"] = summary.p99;
}

// A request that failed has no times: 0 and an empty list, as vLLM writes it.
void addRequest(Json& metrics, const RequestTrack& track) {
  const bool hasTimes = track.isSuccess && !track.tokenMs.empty();
  metrics["input_lens"].push_back(track.inputTokens);
  metrics["output_lens"].push_back(hasTimes ? track.outputTokens : 0);
  metrics["ttfts"].push_back(hasTimes ? (track.tokenMs.front() - track.startMs) / 1e3 : 0.0);
  Json gaps = Json::array();
  for (std::size_t i = 1; hasTimes && i < track.tokenMs.size(); ++i) {
    gaps.push_back((track.tokenMs[i] - track.tokenMs[i - 1]) / 1e3);
  }
  metrics["itls"].push_back(std::move(gaps));
  metrics["start_times"].push_back(track.startMs / 1e3);
}

}  // namespace

Json metricsJson(const ServedRun& run) {
  const ServingMetrics totals = summarizeServing(run.tracks, run.durationMs);
  Json metrics = {{"num_prompts", run.tracks.size()},
                  {"duration", totals.durationS},
                  {"completed", totals.completed},
                  {"failed", totals.failed},
                  {"total_input_tokens", totals.totalInputTokens},
                  {"total_output_tokens", totals.totalOutputTokens},
                  {"request_throughput", totals.requestThroughput},
                  {"request_goodput", nullptr},
                  {"output_throughput", totals.outputThroughput},
                  {"total_token_throughput", totals.totalTokenThroughput}};
  if (totals.requestGoodput) metrics["request_goodput"] = *totals.requestGoodput;
  addSummary(metrics, "ttft", totals.ttft);
  addSummary(metrics, "tpot", totals.tpot);
  addSummary(metrics, "itl", totals.itl);
  addSummary(metrics, "e2el", totals.e2el);
  for (const char* list : {"input_lens", "output_lens", "ttfts", "itls", "start_times"}) {
    metrics[list] = Json::array();
  }
  for (const RequestTrack& track : run.tracks) addRequest(metrics, track);
  metrics["errors"] = run.errors;
  return metrics;
}

}  // namespace app::cli
