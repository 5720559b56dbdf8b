#define PCRE2_CODE_UNIT_WIDTH 8
#include "engine/text/pre_tokenizer.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pcre2.h>

#include "engine/base/pace.h"

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
constexpr std::string_view kLineEnd = R"([\r\n])";
// Letters that have case, as deepseek-llm lists them.
constexpr std::string_view kDeepseekWords =
    R"(\s?[\x{41}-\x{5A}\x{61}-\x{7A}\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA})"
    R"(\x{1BC}-\x{1BF}\x{1C4}-\x{293}\x{295}-\x{2AF}\x{370}-\x{373}\x{376}\x{377})"
    R"(\x{37B}-\x{37D}\x{37F}\x{386}\x{388}-\x{38A}\x{38C}\x{38E}-\x{3A1}\x{3A3}-\x{3F5})"
    R"(\x{3F7}-\x{481}\x{48A}-\x{52F}\x{531}-\x{556}\x{10A0}-\x{10C5}\x{13A0}-\x{13F5})"
    R"(\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA}\x{1CBD}-\x{1CBF}\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77})"
    R"(\x{1D79}-\x{1D9A}\x{1E00}-\x{1F15}\x{1F18}-\x{1F1D}\x{1F20}-\x{1F45}\x{1F48}-\x{1F4D})"
    R"(\x{1F50}-\x{1F57}\x{1F59}\x{1F5B}\x{1F5D}\x{1F5F}-\x{1F7D}\x{1F80}-\x{1FB4})"
    R"(\x{1FB6}-\x{1FBC}\x{1FBE}\x{1FC2}-\x{1FC4}\x{1FC6}-\x{1FCC}\x{1FD0}-\x{1FD3})"
    R"(\x{1FD6}-\x{1FDB}\x{1FE0}-\x{1FEC}\x{1FF2}-\x{1FF4}\x{1FF6}-\x{1FFC}\x{2102}\x{2107})"
    R"(\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D}\x{2124}\x{2126}\x{2128}\x{212A}-\x{212D})"
    R"(\x{212F}-\x{2134}\x{2139}\x{213C}-\x{213F}\x{2145}-\x{2149}\x{214E}\x{2183}\x{2184})"
    R"(\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4}\x{2CEB}-\x{2CEE}\x{2CF2}\x{2CF3}\x{A640}-\x{A66D})"
    R"(\x{A680}-\x{A69B}\x{A722}-\x{A76F}\x{A771}-\x{A787}\x{A78B}-\x{A78E}\x{AB70}-\x{ABBF})"
    R"(\x{FB00}-\x{FB06}\x{FB13}-\x{FB17}\x{FF21}-\x{FF3A}\x{FF41}-\x{FF5A})"
    R"(\x{10400}-\x{1044F}\x{104B0}-\x{104D3}\x{104D8}-\x{104FB}\x{10C80}-\x{10CB2})"
    R"(\x{10CC0}-\x{10CF2}\x{118A0}-\x{118DF}\x{1E900}-\x{1E943}]+)";
constexpr std::string_view kDeepseekMarks =
    R"(\s?[!-/:-~\x{FF01}-\x{FF0F}\x{FF1A}-\x{FF5E}\x{2018}-\x{201F}\x{3000}-\x{3002}]+)";
// Published as \s+$; a run is entered at its start alone, so that long ones stay linear.
constexpr std::string_view kDeepseekLastSpaces = R"((?<!\s)\s++$)";
// Chinese, Korean, and all between U+0800 and U+4E00.
constexpr std::string_view kDeepseekEastern =
    R"([\x{4E00}-\x{9FA5}\x{0800}-\x{4E00}\x{AC00}-\x{D7FF}]+)";
constexpr std::string_view kCoderWords = R"(\s?\p{L}+)";
constexpr std::string_view kCoderMarks = R"(\s?\p{P}+)";
constexpr std::string_view kFalconMarks = R"([\p{P}$+<=>^~|`]+)";
constexpr std::string_view kThreeDigits = R"([0-9]{3})";

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
      {"starcoder", {kOneDigit, kGpt2}},
      {"refact", {kOneDigit, kGpt2}},
      {"command-r", {kOneDigit, kGpt2}},
      {"mpt", {kGpt2}},
      {"falcon", {kFalconMarks, kGpt2, kThreeDigits}},
      {"deepseek-llm",
       {kLineEnd, kDeepseekWords, kDeepseekMarks, kDeepseekLastSpaces, kDeepseekEastern,
        kOneDigit}},
      {"deepseek-coder", {kLineEnd, kCoderWords, kCoderMarks, kDeepseekEastern, kOneDigit}},
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
    Pace::breathe();
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
