#include "app/cli/bench_document.h"

#include <cstdint>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace app::cli {

using namespace engine;

namespace {

using Document = nlohmann::json;

constexpr std::int64_t kMostUsers = 4096, kMostTokens = 1 << 24;

std::optional<std::int64_t> wholeAt(const Document& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  return found->get<std::int64_t>();
}

std::optional<double> numberAt(const Document& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

bool isWithin(std::optional<std::int64_t> value, std::int64_t least, std::int64_t most) {
  return value && *value >= least && *value <= most;
}

// The prompt in one step: bench reads it as one when the budget allows, and its steps together cost
// nearly the same.
sim::MeasuredStep prefillStep(std::int64_t depth, std::int64_t prompt, double tokensPerSecond) {
  return {{{prompt, depth + prompt, 1}}, static_cast<double>(prompt) / tokensPerSecond};
}

}  // namespace

Result<std::vector<sim::MeasuredStep>> readMeasuredSteps(std::string_view text,
                                                         const std::string& path) {
  const auto wrong = [&path](const std::string& what) {
    return Error{ErrorCode::InvalidArgument, fmt::format("{}: {}", path, what)};
  };
  const Document document = Document::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object() || !document.contains("rows") || !document["rows"].is_array()) {
    return wrong("not a document of tessera-cli bench --json");
  }
  const auto prompt = wholeAt(document, "prompt_tokens");
  const auto generated = wholeAt(document, "gen_tokens");
  if (!isWithin(prompt, 1, kMostTokens) || !isWithin(generated, 1, kMostTokens)) {
    return wrong("prompt_tokens or gen_tokens is missing or out of range");
  }
  std::vector<sim::MeasuredStep> steps;
  std::size_t number = 0;
  for (const Document& row : document["rows"]) {
    ++number;
    const auto batch = wholeAt(row, "batch"), depth = wholeAt(row, "depth");
    const auto stepMs = numberAt(row, "step_ms_p50");
    if (!isWithin(batch, 1, kMostUsers) || !isWithin(depth, 0, kMostTokens) || !stepMs) {
      return wrong(fmt::format("row {} lacks batch, depth or step_ms_p50", number));
    }
    const std::int64_t length = *depth + *prompt + *generated / 2;
    sim::MeasuredStep step;
    step.rows.assign(static_cast<std::size_t>(*batch), {1, length, 1});
    step.seconds = *stepMs / 1e3;
    steps.push_back(std::move(step));
    const auto prefill = numberAt(row, "prefill_tps");
    if (*batch == 1 && prefill && *prefill > 0) steps.push_back(prefillStep(*depth, *prompt, *prefill));
  }
  if (steps.empty()) return wrong("it has no rows");
  return steps;
}

}  // namespace app::cli
