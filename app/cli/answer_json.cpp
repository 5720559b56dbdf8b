#include "app/cli/answer_json.h"

#include <cmath>

#include <fmt/format.h>

namespace app::cli {

namespace {

Json numberJson(double value) {
  return std::isfinite(value) ? Json(value) : Json();
}

}  // namespace

Json sampledIdsJson(const Answer& answer) {
  Json ids = Json::array();
  for (const engine::SampledToken& token : answer.tokens) ids.push_back(token.id);
  return ids;
}

Json logprobsJson(const Answer& answer) {
  Json logprobs = Json::array();
  for (const engine::SampledToken& token : answer.tokens) {
    logprobs.push_back(numberJson(token.logprob));
  }
  return logprobs;
}

Json topLogprobsJson(const Answer& answer) {
  Json all = Json::array();
  for (const engine::SampledToken& token : answer.tokens) {
    Json top = Json::array();
    for (const engine::TokenLogprob& one : token.top) {
      top.push_back(Json::array({one.id, numberJson(one.logprob)}));
    }
    all.push_back(std::move(top));
  }
  return all;
}

Json rowHashesJson(const Answer& answer) {
  Json hashes = Json::array();
  for (const engine::SampledToken& token : answer.tokens) {
    hashes.push_back(fmt::format("{:016x}", token.rowHash));
  }
  return hashes;
}

Json ttftJson(const Answer& answer) {
  if (!answer.finished) return {};
  return millisecondsJson(answer.finished->times.arrivalNs, answer.finished->times.firstTokenNs);
}

Json speculationJson(const engine::EngineSnapshot* last) {
  const engine::SpeculationSummary done = last ? last->speculation : engine::SpeculationSummary{};
  const double perPass =
      done.passes > 0 ? static_cast<double>(done.tokens) / static_cast<double>(done.passes) : 0.0;
  return {{"passes", done.passes},
          {"drafted", done.drafted},
          {"accepted", done.accepted},
          {"accepted_by_position", done.acceptedByPosition},
          {"tokens_per_pass", perPass}};
}

Json millisecondsJson(std::int64_t fromNs, std::int64_t toNs) {
  if (fromNs < 0 || toNs < 0) return {};
  return static_cast<double>(toNs - fromNs) / 1e6;
}

}  // namespace app::cli
