#define PCRE2_CODE_UNIT_WIDTH 8
#include "engine/text/pre_tokenizer.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pcre2.h>

namespace engine::text {

namespace {

constexpr std::string_view kGpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kOneDigit = R"(\p{N})";

// Unicode's White_Space, which the models' own expressions mean by \s; PCRE2's adds U+180E.
constexpr std::string_view kWhiteSpace =
    R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";

// Writes out \s and \S; inside a character class only \s is known.
std::string withWhiteSpace(std::string_view pattern) {
  std::string expanded;
  bool isInClass = false;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    const char character = pattern[at];
    if (character != '\\') {
      if (character == '[') isInClass = true;
      if (character == ']') isInClass = false;
      expanded.push_back(character);
      continue;
    }
    const char escaped = pattern[++at];
    if (escaped == 's') {
      expanded += isInClass ? std::string(kWhiteSpace) : fmt::format("[{}]", kWhiteSpace);
    } else if (escaped == 'S' && !isInClass) {
      expanded += fmt::format("[^{}]", kWhiteSpace);
    } else {
      expanded += {'\\', escaped};
    }
  }
  return expanded;
}

struct CodeDeleter {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
};

struct MatchDataDeleter {
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};

std::string pcreMessage(int code) {
  PCRE2_UCHAR buffer[256] = {};
  pcre2_get_error_message(code, buffer, sizeof buffer);
  return reinterpret_cast<const char*>(buffer);
}

}  // namespace

const std::vector<PreTokenizerRule>& preTokenizerRules() {
  static const std::vector<PreTokenizerRule> rules = {
      {"gpt-2", {kGpt2}},
      {"llama-bpe", {kLlama3}, true},
      {"qwen2", {kQwen2}},
      {"smollm", {kOneDigit, kGpt2}},
  };
  return rules;
}

struct PreTokenizer::Pattern {
  std::unique_ptr<pcre2_code, CodeDeleter> code;
};

PreTokenizer::PreTokenizer() = default;
PreTokenizer::~PreTokenizer() = default;

Result<std::unique_ptr<PreTokenizer>> PreTokenizer::create(const std::string& ruleName) {
  const auto& rules = preTokenizerRules();
  const auto rule = std::find_if(rules.begin(), rules.end(), [&](const PreTokenizerRule& known) {
    return known.name == ruleName;
  });
  if (rule == rules.end()) {
    std::vector<std::string_view> names;
    for (const PreTokenizerRule& known : rules) names.push_back(known.name);
    return Error{ErrorCode::Unsupported,
                 fmt::format("pre-tokenizer rule \"{}\" is not one we know ({})", ruleName,
                             fmt::join(names, ", "))};
  }
  std::unique_ptr<PreTokenizer> preTokenizer(new PreTokenizer);
  preTokenizer->m_ignoresMerges = rule->ignoresMerges;
  for (const std::string_view source : rule->patterns) {
    const std::string pattern = withWhiteSpace(source);
    int failure = 0;
    PCRE2_SIZE offset = 0;
    Pattern compiled;
    compiled.code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                                      PCRE2_UTF | PCRE2_UCP, &failure, &offset, nullptr));
    if (!compiled.code) {
      return Error{ErrorCode::Internal,
                   fmt::format("pre-tokenizer rule \"{}\" does not compile at {}: {}", ruleName,
                               offset, pcreMessage(failure))};
    }
    // Without JIT the interpreter gives the same matches, only slower.
    pcre2_jit_compile(compiled.code.get(), PCRE2_JIT_COMPLETE);
    preTokenizer->m_patterns.push_back(std::move(compiled));
  }
  return preTokenizer;
}

namespace {

// Appends matches of `code` in `piece` and the gaps between them. The piece is a subject of its
// own: a look-ahead at its end sees the end of the text.
Result<void> splitPiece(const pcre2_code* code,
                        pcre2_match_data* data,
                        std::string_view piece,
                        std::vector<std::string_view>& words) {
  const auto subject = reinterpret_cast<PCRE2_SPTR>(piece.data());
  std::size_t at = 0;
  while (at < piece.size()) {
    const int count =
        pcre2_match(code, subject, piece.size(), at, PCRE2_NO_UTF_CHECK, data, nullptr);
    if (count == PCRE2_ERROR_NOMATCH) break;
    if (count < 0) {
      return Error{ErrorCode::Internal,
                   fmt::format("pre-tokenizing failed at byte {}: {}", at, pcreMessage(count))};
    }
    const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(data);
    if (bounds[0] > at) words.push_back(piece.substr(at, bounds[0] - at));
    if (bounds[1] <= bounds[0]) break;  // no rule matches nothing; this only guards the loop
    words.push_back(piece.substr(bounds[0], bounds[1] - bounds[0]));
    at = bounds[1];
  }
  if (at < piece.size()) words.push_back(piece.substr(at));
  return {};
}

}  // namespace

Result<std::vector<std::string_view>> PreTokenizer::split(std::string_view text) const {
  std::vector<std::string_view> words;
  if (!text.empty()) words.push_back(text);
  for (const Pattern& pattern : m_patterns) {
    const std::unique_ptr<pcre2_match_data, MatchDataDeleter> data(
        pcre2_match_data_create_from_pattern(pattern.code.get(), nullptr));
    if (!data) return Error{ErrorCode::OutOfMemory, "no memory for pre-tokenizing"};
    std::vector<std::string_view> finer;
    for (const std::string_view piece : words) {
      TRY_VOID(splitPiece(pattern.code.get(), data.get(), piece, finer));
    }
    words = std::move(finer);
  }
  return words;
}

}  // namespace engine::text
