#include "app/cli/run_report.h"

#include <utility>

#include <fmt/format.h>

#include "app/cli/answer_json.h"
#include "app/cli/metrics_json.h"

namespace app::cli {

using namespace engine;

namespace {

Json gapsJson(const Answer& answer) {
  Json gaps = Json::array();
  for (std::size_t i = 1; i < answer.chunkNs.size(); ++i) {
    gaps.push_back(millisecondsJson(answer.chunkNs[i - 1], answer.chunkNs[i]));
  }
  return gaps;
}

Json requestJson(const RunOutcome::Request& request) {
  const Answer& answer = request.answer ? *request.answer : Answer{};
  const RequestFinished ended = answer.finished.value_or(RequestFinished{});
  Json document = {{"id", request.asked->id},
                   {"prompt_ids", answer.promptIds},
                   {"ids", sampledIdsJson(answer)},
                   {"text", answer.text},
                   {"logprobs", logprobsJson(answer)},
                   {"row_hashes", rowHashesJson(answer)},
                   {"finish_reason", finishReasonName(answer.reason())}};
  if (answer.isRefusedOrFailed()) document["reason"] = ended.explanation;
  if (request.asked->sampling.n > 1 || request.asked->sampling.bestOf > 1 ||
      request.asked->sampling.beamWidth > 0) {
    document["choices"] = choicesJson(answer, /*wantsTop=*/false, /*wantsHashes=*/true);
  }
  document["ttft_ms"] = ttftJson(answer);
  document["itl_ms"] = gapsJson(answer);
  document["preemptions"] = ended.preemptions;
  document["cached_tokens"] = ended.usage.cachedTokens;
  return document;
}

double sinceStartMs(const RunOutcome& outcome, std::int64_t ns) {
  return static_cast<double>(ns - outcome.startNs) / 1e6;
}

sim::RequestTrack trackOf(const RunOutcome& outcome, const RunOutcome::Request& request) {
  sim::RequestTrack track;
  track.slo = request.asked->slo;
  track.startMs = request.asked->atMs;
  if (!request.answer) return track;
  const Answer& answer = *request.answer;
  const FinishReason reason = answer.reason();
  track.isSuccess = reason == FinishReason::Stop || reason == FinishReason::Length;
  track.inputTokens = static_cast<std::int64_t>(answer.promptIds.size());
  for (std::size_t i = 0; i < answer.numChoices(); ++i) {
    track.outputTokens += std::ssize(answer.choice(i).tokens);
  }
  // a request that the engine was spared has no times
  if (answer.finished && answer.finished->times.arrivalNs >= 0) {
    track.startMs = sinceStartMs(outcome, answer.finished->times.arrivalNs);
  }
  for (const std::int64_t ns : answer.chunkNs) track.tokenMs.push_back(sinceStartMs(outcome, ns));
  return track;
}

std::string errorOf(const RunOutcome::Request& request) {
  if (!request.answer) return "cancelled";
  const Answer& answer = *request.answer;
  if (answer.isRefusedOrFailed()) return answer.finished->explanation;
  return answer.reason() == FinishReason::Cancelled ? "cancelled" : "";
}

ServedRun servedRunOf(const RunOutcome& outcome) {
  ServedRun run;
  run.durationMs = sinceStartMs(outcome, outcome.endNs);
  for (const RunOutcome::Request& request : outcome.requests) {
    run.tracks.push_back(trackOf(outcome, request));
    run.errors.push_back(errorOf(request));
  }
  return run;
}

}  // namespace

Json runJson(const RunOutcome& outcome) {
  Json requests = Json::array();
  for (const RunOutcome::Request& request : outcome.requests) {
    requests.push_back(requestJson(request));
  }
  return {{"requests", std::move(requests)},
          {"engine", engineJson(outcome.last.get())},
          {"metrics", metricsJson(servedRunOf(outcome))},
          {"speculation", speculationJson(outcome.last.get())}};
}

Json engineJson(const EngineSnapshot* last) {
  if (last == nullptr) return {};
  const EngineCounters& counters = last->counters;
  // means over the steps; external holes need runs of blocks, which a paged pool has not
  Json internal, external = 0.0;
  if (counters.usedSlotSteps > 0) {
    internal =
        static_cast<double>(counters.emptySlotSteps) / static_cast<double>(counters.usedSlotSteps);
  }
  if (counters.freeBlockSteps > 0) {
    external = static_cast<double>(counters.strandedBlockSteps) /
               static_cast<double>(counters.freeBlockSteps);
  }
  return {{"steps", counters.steps},
          {"preemptions", counters.preemptions},
          {"swaps", counters.swaps},
          {"cow_copies", counters.cowCopies},
          {"peak_blocks", counters.peakBlocks},
          {"leaked_blocks", counters.leakedBlocks},
          {"padded_tokens", counters.paddedTokens},
          {"idle_slot_steps", counters.idleSlotSteps},
          {"fragmentation", {{"internal", internal}, {"external", external}}}};
}

std::string servingText(const std::vector<sim::RequestTrack>& tracks, double durationMs) {
  const sim::ServingMetrics m = summarizeServing(tracks, durationMs);
  std::string text;
  text += fmt::format("{} of {} requests completed in {:.2f} s\n", m.completed,
                      tracks.size(), m.durationS);
  text += fmt::format("{} prompt tokens, {} sampled, {:.1f} sampled tokens/s\n", m.totalInputTokens,
                      m.totalOutputTokens, m.outputThroughput);
  const auto line = [&text](const char* name, const sim::LatencySummary& s) {
    if (s.count == 0) return;
    text += fmt::format("{:5} mean {:9.2f}  median {:9.2f}  p99 {:9.2f} ms\n", name, s.mean,
                        s.median, s.p99);
  };
  line("TTFT", m.ttft);
  line("TPOT", m.tpot);
  line("ITL", m.itl);
  line("E2EL", m.e2el);
  if (m.requestGoodput) text += fmt::format("goodput {:.2f} requests/s\n", *m.requestGoodput);
  return text;
}

std::string runText(const RunOutcome& outcome) {
  std::string text;
  for (const RunOutcome::Request& request : outcome.requests) {
    const std::string error = errorOf(request);
    if (!error.empty()) text += fmt::format("{}: {}\n", request.asked->id, error);
  }
  const ServedRun run = servedRunOf(outcome);
  text += servingText(run.tracks, run.durationMs);
  if (outcome.last) {
    const EngineCounters& counters = outcome.last->counters;
    text += fmt::format("{} steps, {} preemptions, {} blocks at most, {} leaked\n", counters.steps,
                        counters.preemptions, counters.peakBlocks, counters.leakedBlocks);
  }
  return text;
}

}  // namespace app::cli
