#include "app/cli/prompt_synthesis.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <variant>

#include <fmt/format.h>

namespace app::cli {

using namespace engine;
using engine::text::TokenType;

namespace {

constexpr std::int64_t kMaxDrawnTokens = std::int64_t{1} << 28;  // 1 GiB of ids

}  // namespace

sim::PromptAlphabet plainTokens(const text::Vocabulary& vocabulary) {
  sim::PromptAlphabet alphabet;
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    if (vocabulary.types[id] == TokenType::Normal) alphabet.push_back(static_cast<TokenId>(id));
  }
  if (alphabet.empty()) {
    alphabet.resize(vocabulary.tokens.size());
    std::iota(alphabet.begin(), alphabet.end(), 0);
  }
  return alphabet;
}

bool needsTokenizer(const sim::Workload& workload) {
  return std::ranges::any_of(workload.requests, [](const sim::WorkloadRequest& request) {
    return !request.referenceAnswer.empty() ||
           std::holds_alternative<sim::SyntheticPrompt>(request.prompt);
  });
}

void takeAnswerLength(sim::WorkloadRequest& request, const text::Tokenizer& tokenizer) {
  if (request.referenceAnswer.empty()) return;
  const auto ids = tokenizer.encodeRaw(request.referenceAnswer, text::SpecialTokens::Plain);
  if (ids) request.sampling.maxTokens = std::max<std::int64_t>(1, std::ssize(*ids));
}

Result<void> resolvePrompts(sim::Workload& workload,
                            const text::Tokenizer& tokenizer,
                            std::uint64_t seed,
                            std::int64_t maxContext) {
  const auto isDrawn = [maxContext](const sim::WorkloadRequest& request) {
    const auto* synthetic = std::get_if<sim::SyntheticPrompt>(&request.prompt);
    return synthetic != nullptr && synthetic->tokens < maxContext;
  };
  std::int64_t numTokens = 0;
  for (const sim::WorkloadRequest& request : workload.requests) {
    if (isDrawn(request)) numTokens += std::get<sim::SyntheticPrompt>(request.prompt).tokens;
  }
  if (numTokens > kMaxDrawnTokens) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("the workload's drawn prompts have {} tokens together; the limit is {}",
                             numTokens, kMaxDrawnTokens)};
  }
  const sim::PromptAlphabet alphabet = plainTokens(tokenizer.vocabulary());
  std::uint64_t index = 0;
  for (sim::WorkloadRequest& request : workload.requests) {
    if (isDrawn(request)) {
      const auto& synthetic = std::get<sim::SyntheticPrompt>(request.prompt);
      request.prompt = TokenPrompt{sim::synthesizePrompt(synthetic, alphabet, seed, index)};
    }
    ++index;
    takeAnswerLength(request, tokenizer);
  }
  return {};
}

}  // namespace app::cli
