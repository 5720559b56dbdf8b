#include "engine/text/vocabulary_tokenizer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "engine/text/utf8.h"

namespace engine::text {

namespace {

// Control tokens that end a turn in models whose file names only one of them as eos.
constexpr std::array<std::string_view, 5> kEndNames = {"<|im_end|>", "<end_of_turn>", "<|eot_id|>",
                                                       "<|end|>", "<|endoftext|>"};

bool isEndName(const std::string& text) {
  return std::find(kEndNames.begin(), kEndNames.end(), text) != kEndNames.end();
}

std::vector<TokenId> findEndOfGeneration(const Vocabulary& vocabulary) {
  std::vector<TokenId> ids;
  for (const TokenId id : {vocabulary.eos, vocabulary.eot, vocabulary.eom}) {
    if (id >= 0) ids.push_back(id);
  }
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    if (vocabulary.types[id] == TokenType::Control && isEndName(vocabulary.tokens[id])) {
      ids.push_back(static_cast<TokenId>(id));
    }
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

Result<void> checkSpecialId(const char* name, TokenId id, std::size_t vocabSize) {
  if (id < -1 || (id >= 0 && static_cast<std::size_t>(id) >= vocabSize)) {
    return Error{
        ErrorCode::CorruptFile,
        fmt::format("the vocabulary has {} tokens, but its {} id is {}", vocabSize, name, id)};
  }
  return {};
}

}  // namespace

Result<void> repairVocabulary(Vocabulary& vocabulary) {
  const std::size_t size = vocabulary.tokens.size();
  if (size == 0) return Error{ErrorCode::CorruptFile, "the vocabulary has no tokens"};
  if (vocabulary.types.empty()) vocabulary.types.assign(size, TokenType::Normal);
  if (vocabulary.types.size() != size) {
    return Error{ErrorCode::CorruptFile,
                 fmt::format("the vocabulary has {} tokens but {} token types", size,
                             vocabulary.types.size())};
  }
  if (!vocabulary.scores.empty() && vocabulary.scores.size() != size) {
    return Error{ErrorCode::CorruptFile, fmt::format("the vocabulary has {} tokens but {} scores",
                                                     size, vocabulary.scores.size())};
  }
  TRY_VOID(checkSpecialId("bos", vocabulary.bos, size));
  TRY_VOID(checkSpecialId("eos", vocabulary.eos, size));
  TRY_VOID(checkSpecialId("eot", vocabulary.eot, size));
  TRY_VOID(checkSpecialId("eom", vocabulary.eom, size));
  TRY_VOID(checkSpecialId("unknown", vocabulary.unknown, size));
  for (std::size_t id = 0; id < size; ++id) {
    if (isEndName(vocabulary.tokens[id])) vocabulary.types[id] = TokenType::Control;
  }
  return {};
}

VocabularyTokenizer::VocabularyTokenizer(Vocabulary vocabulary, bool matchUserDefined)
    : m_vocabulary(std::move(vocabulary)),
      m_matcher(m_vocabulary, matchUserDefined),
      m_endOfGeneration(findEndOfGeneration(m_vocabulary)) {}

Result<std::vector<TokenId>> VocabularyTokenizer::encode(const OriginText& text,
                                                         SpecialTokens mode) const {
  const std::string plain = plainText(text);
  if (const auto offset = findInvalidUtf8(plain)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("the text is not valid UTF-8 at byte {}", *offset)};
  }
  std::vector<TemplateRange> controlRanges;
  if (mode != SpecialTokens::Plain) controlRanges = templateRanges(text);

  std::vector<TokenId> ids;
  bool afterSpecial = true;
  for (const TextSegment& segment : m_matcher.split(plain, controlRanges)) {
    if (segment.id >= 0) {
      ids.push_back(segment.id);
    } else {
      const auto part = std::string_view(plain).substr(segment.begin, segment.end - segment.begin);
      TRY_VOID(encodePlain(part, afterSpecial, ids));
    }
    afterSpecial = segment.id >= 0;
  }
  if (mode == SpecialTokens::AddAndMatch) {
    const bool wantsBos = m_vocabulary.addBos && m_vocabulary.bos >= 0;
    if (wantsBos && (ids.empty() || ids.front() != m_vocabulary.bos)) {
      ids.insert(ids.begin(), m_vocabulary.bos);
    }
    const bool wantsEos = m_vocabulary.addEos && m_vocabulary.eos >= 0;
    if (wantsEos && (ids.empty() || ids.back() != m_vocabulary.eos))
      ids.push_back(m_vocabulary.eos);
  }
  return ids;
}

int byteOfToken(std::string_view text) {
  if (text.size() != 6 || text.substr(0, 3) != "<0x" || text[5] != '>') return -1;
  int byte = 0;
  const auto [end, failure] = std::from_chars(text.data() + 3, text.data() + 5, byte, 16);
  return failure == std::errc() && end == text.data() + 5 ? byte : -1;
}

}  // namespace engine::text
