#include "engine/sim/workload_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <system_error>
#include <utility>

namespace engine::sim {

namespace {

using nlohmann::ordered_json;

Error fault(std::string_view field, std::string_view what) {
  return {ErrorCode::InvalidArgument, fmt::format("\"{}\" {}", field, what)};
}

// A value as its row spells it, cut where it is long.
std::string shortDump(const ordered_json& value) {
  constexpr std::size_t kMost = 40;
  std::string text = value.dump(-1, ' ', true, ordered_json::error_handler_t::replace);
  if (text.size() > kMost) text = text.substr(0, kMost) + "...";
  return text;
}

Result<double> numberOf(const ordered_json& value, std::string_view field, double low, double high) {
  if (!value.is_number()) return fault(field, "must be a number");
  const double number = value.get<double>();
  if (!(number >= low && number <= high)) {
    return fault(field, fmt::format("is {}, must be from {} to {}", number, low, high));
  }
  return number;
}

Result<std::int64_t> wholeOf(const ordered_json& value,
                             std::string_view field,
                             std::int64_t low,
                             std::int64_t high) {
  if (!value.is_number_integer() && !value.is_number_unsigned()) {
    return fault(field, fmt::format("is {}, must be a whole number from {} to {}", shortDump(value),
                                    low, high));
  }
  // unsigned values beyond int64 must not wrap
  const bool isHuge = value.is_number_unsigned() &&
                      value.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (isHuge || value.get<std::int64_t>() < low || value.get<std::int64_t>() > high) {
    return fault(field, fmt::format("is {}, must be from {} to {}", value.dump(), low, high));
  }
  return value.get<std::int64_t>();
}

Result<std::uint64_t> seedOf(const ordered_json& value, std::string_view field) {
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  return fault(field, fmt::format("is {}, must be a whole number from 0 to {}", shortDump(value),
                                  std::numeric_limits<std::uint64_t>::max()));
}

Result<std::string> textOf(const ordered_json& value, std::string_view field) {
  if (!value.is_string()) return fault(field, "must be a string");
  return value.get<std::string>();
}

// A drawn prompt is checked against the context before it is made; this only keeps numbers sane.
constexpr std::int64_t kMaxPromptTokens = 1ll << 31;
constexpr std::int64_t kMostInt = std::numeric_limits<int>::max();

Result<TokenPrompt> idsOf(const ordered_json& value) {
  if (!value.is_array() || value.empty()) return fault("prompt_ids", "must be a non-empty list");
  TokenPrompt prompt;
  for (const ordered_json& id : value) {
    prompt.ids.push_back(static_cast<TokenId>(
        TRY(wholeOf(id, "prompt_ids", 0, std::numeric_limits<TokenId>::max()))));
  }
  return prompt;
}

Result<SyntheticPrompt> syntheticOf(const ordered_json& row) {
  SyntheticPrompt prompt;
  prompt.tokens = TRY(wholeOf(row.at("prompt_tokens"), "prompt_tokens", 1, kMaxPromptTokens));
  if (!row.contains("hash_ids")) return prompt;
  if (!row.at("hash_ids").is_array()) return fault("hash_ids", "must be a list");
  const std::int64_t numBlocks = (prompt.tokens + kHashBlockTokens - 1) / kHashBlockTokens;
  if (std::ssize(row.at("hash_ids")) > numBlocks) {
    return fault("hash_ids", fmt::format("has {} ids; a prompt of {} tokens has {} blocks of {}",
                                         row.at("hash_ids").size(), prompt.tokens, numBlocks,
                                         kHashBlockTokens));
  }
  for (const ordered_json& id : row.at("hash_ids")) {
    prompt.hashIds.push_back(static_cast<std::uint64_t>(
        TRY(wholeOf(id, "hash_ids", 0, std::numeric_limits<std::int64_t>::max()))));
  }
  return prompt;
}

Result<void> setPrompt(const ordered_json& row, WorkloadRequest& request) {
  int found = 0;
  for (const char* field : {"prompt", "prompt_ids", "messages", "prompt_tokens"}) {
    found += row.contains(field);
  }
  if (found != 1) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("needs exactly one of \"prompt\", \"prompt_ids\", \"messages\" and "
                             "\"prompt_tokens\", has {}", found)};
  }
  if (row.contains("prompt")) {
    request.prompt = TextPrompt{TRY(textOf(row.at("prompt"), "prompt"))};
  } else if (row.contains("prompt_ids")) {
    request.prompt = TRY(idsOf(row.at("prompt_ids")));
  } else if (row.contains("messages")) {
    if (!row.at("messages").is_array()) {
      return Error{ErrorCode::InvalidArgument, "\"messages\" must be a list"};
    }
    ordered_json conversation;
    conversation["messages"] = row.at("messages");
    if (row.contains("tools")) conversation["tools"] = row.at("tools");
    request.prompt = ChatPrompt{conversation.dump(), ""};
  } else {
    request.prompt = TRY(syntheticOf(row));
  }
  return {};
}

Result<void> setStops(const ordered_json& value, SamplingParams& sampling) {
  sampling.stop.clear();
  if (value.is_string()) {
    sampling.stop.push_back(value.get<std::string>());
  } else if (value.is_array()) {
    for (const ordered_json& stop : value) sampling.stop.push_back(TRY(textOf(stop, "stop")));
  } else {
    return fault("stop", "must be a string or a list of strings");
  }
  return {};
}

Result<SloTarget> sloOf(const ordered_json& value) {
  if (!value.is_object()) return fault("slo", "must be an object");
  SloTarget slo;
  for (const auto& [key, target] : value.items()) {
    const double ms = TRY(numberOf(target, "slo." + key, 0, 1e12));
    if (key == "ttft_ms") {
      slo.ttftMs = ms;
    } else if (key == "tpot_ms") {
      slo.tpotMs = ms;
    } else {
      return fault("slo." + key, "is unknown");
    }
  }
  return slo;
}

// Where a field with a fraction goes; null for other fields.
float* floatOf(std::string_view key, SamplingParams& sampling) {
  const std::pair<std::string_view, float*> fields[] = {
      {"temperature", &sampling.temperature},
      {"top_p", &sampling.topP},
      {"min_p", &sampling.minP},
      {"typical_p", &sampling.typicalP},
      {"repetition_penalty", &sampling.repetitionPenalty},
      {"presence_penalty", &sampling.presencePenalty},
      {"frequency_penalty", &sampling.frequencyPenalty},
      {"length_penalty", &sampling.lengthPenalty}};
  const auto found = std::ranges::find(fields, key, &std::pair<std::string_view, float*>::first);
  return found == std::end(fields) ? nullptr : found->second;
}

Result<float> floatOf(const ordered_json& value, std::string_view field) {
  constexpr double kAny = std::numeric_limits<float>::max();
  const double number = TRY(numberOf(value, field, -kAny, kAny));
  const auto narrow = static_cast<float>(number);
  if (field == "repetition_penalty" && narrow == 0.0f && number != 0.0) {
    return fault(field, fmt::format("is {}, which is 0 in 32-bit floating point; it takes values "
                                    "above 0 up to 10",
                                    number));
  }
  return narrow;
}

// {"5": -1.5}: what is added to the logits of tokens, in place of what the defaults add.
Result<void> setBias(const ordered_json& value, SamplingParams& sampling) {
  if (!value.is_object()) {
    return fault("logit_bias", "must be an object of token ids and numbers, as {\"5\": -1.5}");
  }
  sampling.logitBias.clear();
  for (const auto& [key, bias] : value.items()) {
    TokenId id = 0;
    const char* end = key.data() + key.size();
    const auto [stop, failure] = std::from_chars(key.data(), end, id);
    if (failure != std::errc() || stop != end || id < 0) {
      return fault("logit_bias", fmt::format("names token {}, must name ids from 0 to {}",
                                             shortDump(ordered_json(key)),
                                             std::numeric_limits<TokenId>::max()));
    }
    sampling.logitBias.emplace_back(id, TRY(floatOf(bias, fmt::format("logit_bias.{}", id))));
  }
  return {};
}

// Sampling values are read here and their ranges checked once, by checkSamplingParams.
Result<bool> setSampling(const std::string& key, const ordered_json& value, SamplingParams& sampling) {
  constexpr std::int64_t kHigh = std::numeric_limits<std::int64_t>::max();
  if (float* target = floatOf(key, sampling)) {
    *target = TRY(floatOf(value, key));
  } else if (key == "logit_bias") {
    TRY_VOID(setBias(value, sampling));
  } else if (key == "top_k") {
    sampling.topK = TRY(wholeOf(value, key, 0, kMaxTopK));
  } else if (key == "max_tokens") {
    sampling.maxTokens = TRY(wholeOf(value, key, 1, kHigh));
  } else if (key == "seed") {
    sampling.seed = TRY(seedOf(value, key));
  } else if (key == "n") {
    sampling.n = static_cast<int>(TRY(wholeOf(value, key, 1, kMaxChoices)));
  } else if (key == "best_of") {
    sampling.bestOf = static_cast<int>(TRY(wholeOf(value, key, 1, kMaxChoices)));
  } else if (key == "beam_width") {
    sampling.beamWidth = static_cast<int>(TRY(wholeOf(value, key, 0, kMaxBeamWidth)));
  } else if (key == "early_stopping") {
    if (!value.is_boolean()) return fault(key, "must be true or false");
    sampling.earlyStopping = value.get<bool>();
  } else if (key == "ignore_eos") {
    if (!value.is_boolean()) return fault(key, "must be true or false");
    sampling.ignoreEos = value.get<bool>();
  } else if (key == "stop") {
    TRY_VOID(setStops(value, sampling));
  } else {
    return false;
  }
  return true;
}

Result<void> setField(const std::string& key, const ordered_json& value, WorkloadRequest& request) {
  constexpr std::array<std::string_view, 6> kPromptFields = {
      "prompt", "prompt_ids", "messages", "tools", "prompt_tokens", "hash_ids"};
  for (std::string_view field : kPromptFields) {
    if (key == field) return {};  // read by setPrompt
  }
  if (key == "id") {
    request.id = value.is_string() ? value.get<std::string>() : value.dump();
  } else if (key == "at_ms") {
    request.atMs = TRY(numberOf(value, key, 0, 1e15));
  } else if (key == "priority") {
    request.priority = static_cast<int>(TRY(wholeOf(value, key, -kMostInt - 1, kMostInt)));
  } else if (key == "slo") {
    request.slo = TRY(sloOf(value));
  } else if (!TRY(setSampling(key, value, request.sampling))) {
    return fault(key, "is unknown");
  }
  return {};
}

}  // namespace

Result<WorkloadRequest> parseWorkloadRow(const ordered_json& row, const SamplingParams& defaults) {
  if (!row.is_object()) return Error{ErrorCode::InvalidArgument, "is not an object"};
  WorkloadRequest request;
  request.sampling = defaults;
  for (const auto& [key, value] : row.items()) TRY_VOID(setField(key, value, request));
  TRY_VOID(setPrompt(row, request));
  TRY_VOID(checkSamplingParams(request.sampling, 0));
  return request;
}

}  // namespace engine::sim
