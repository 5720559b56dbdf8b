#include "app/cli/answer_json.h"

#include <cmath>

#include <fmt/format.h>

namespace app::cli {

namespace {

Json numberJson(double value) {
  return std::isfinite(value) ? Json(value) : Json();
}

Json optionalJson(const std::optional<double>& value) {
  return value ? numberJson(*value) : Json();
}

}  // namespace

Json sampledIdsJson(const AnswerText& answer) {
  Json ids = Json::array();
  for (const engine::SampledToken& token : answer.tokens) ids.push_back(token.id);
  return ids;
}

Json logprobsJson(const AnswerText& answer) {
  Json logprobs = Json::array();
  for (const engine::SampledToken& token : answer.tokens) {
    logprobs.push_back(numberJson(token.logprob));
  }
  return logprobs;
}

Json topLogprobsJson(const AnswerText& answer) {
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

Json rowHashesJson(const AnswerText& answer) {
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

Json choicesJson(const Answer& answer, bool wantsTop, bool wantsHashes) {
  Json all = Json::array();
  const engine::RequestFinished ended = answer.finished.value_or(engine::RequestFinished{});
  for (std::size_t i = 0; i < answer.numChoices(); ++i) {
    const AnswerText& one = answer.choice(i);
    engine::ChoiceEnd end;
    end.reason = answer.reason();
    for (const engine::SampledToken& token : one.tokens) end.cumulativeLogprob += token.logprob;
    end.score = end.cumulativeLogprob;
    if (i < ended.choices.size()) end = ended.choices[i];
    Json choice = {{"index", i},
                   {"text", one.text},
                   {"ids", sampledIdsJson(one)},
                   {"logprobs", logprobsJson(one)}};
    if (wantsTop) choice["top_logprobs"] = topLogprobsJson(one);
    if (wantsHashes) choice["row_hashes"] = rowHashesJson(one);
    choice["finish_reason"] = finishReasonName(end.reason);
    choice["cumulative_logprob"] = numberJson(end.cumulativeLogprob);
    choice["score"] = numberJson(end.score);
    all.push_back(std::move(choice));
  }
  return all;
}

Json speculationJson(const engine::EngineSnapshot* last) {
  const engine::SpeculationSummary done = last ? last->speculation : engine::SpeculationSummary{};
  const double perPass =
      done.passes > 0 ? static_cast<double>(done.tokens) / static_cast<double>(done.passes) : 0.0;
  return {{"passes", done.passes},
          {"drafted", done.drafted},
          {"accepted", done.accepted},
          {"accepted_by_position", done.acceptedByPosition},
          {"drafted_by_position", done.draftedByPosition},
          {"tokens_per_pass", perPass},
          {"plain_ms_per_token", optionalJson(done.plainMsPerToken)},
          {"speculative_ms_per_token", optionalJson(done.speculativeMsPerToken)},
          {"saved_ms", optionalJson(done.savedMs)}};
}

Json millisecondsJson(std::int64_t fromNs, std::int64_t toNs) {
  if (fromNs < 0 || toNs < 0) return {};
  return static_cast<double>(toNs - fromNs) / 1e6;
}

}  // namespace app::cli
