#include "engine/text/byte_bpe_tokenizer.h"

#include <array>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "engine/base/pace.h"
#include "engine/text/bpe_merger.h"
#include "engine/text/pre_tokenizer.h"
#include "engine/text/utf8.h"
#include "engine/text/vocabulary_tokenizer.h"

namespace engine::text {

namespace {

using TokenIndex = std::unordered_map<std::string_view, TokenId>;  // of the vocabulary's own texts

constexpr std::size_t kMaxCachedWord = 64;  // bytes; longer words hardly ever come twice

// The printable letter that stands for each byte in a vocabulary: itself where it prints, else the
// next free one from U+0100.
std::array<char32_t, 256> byteLetters() {
  std::array<char32_t, 256> letters{};
  char32_t next = 0x100;
  for (char32_t byte = 0; byte < 256; ++byte) {
    const bool prints = (byte > 0x20 && byte < 0x7F) || (byte > 0xA0 && byte != 0xAD);
    letters[byte] = prints ? byte : next++;
  }
  return letters;
}

std::array<int, 512> letterBytes() {
  std::array<int, 512> bytes{};
  bytes.fill(-1);
  const auto letters = byteLetters();
  for (int byte = 0; byte < 256; ++byte) bytes[letters[byte]] = byte;
  return bytes;
}

// Letters back to bytes; a character outside the alphabet stays as it is written.
std::string bytesOfLetters(std::string_view letters) {
  static const std::array<int, 512> kBytes = letterBytes();
  std::string bytes;
  bytes.reserve(letters.size());
  while (!letters.empty()) {
    const Utf8Unit unit = firstUtf8Unit(letters);
    const std::string_view character = letters.substr(0, unit.length);
    const char32_t letter = unit.kind == Utf8Kind::Whole ? codePointOf(character) : 0x200;
    if (letter < kBytes.size() && kBytes[letter] >= 0) {
      bytes.push_back(static_cast<char>(kBytes[letter]));
    } else {
      bytes += character;
    }
    letters.remove_prefix(unit.length);
  }
  return bytes;
}

class ByteBpeTokenizer final : public VocabularyTokenizer {
 public:
  ByteBpeTokenizer(Vocabulary vocabulary, std::unique_ptr<PreTokenizer> preTokenizer)
      : VocabularyTokenizer(std::move(vocabulary), /*matchUserDefined=*/true),
        m_preTokenizer(std::move(preTokenizer)) {}

  // Once, before use.
  Result<void> buildTables();

  std::string pieceBytes(TokenId id, bool writeControl) const override;
  std::string decode(const std::vector<TokenId>& ids, bool writeControl) const override;

 protected:
  Result<void> encodePlain(std::string_view text,
                           bool afterSpecial,
                           std::vector<TokenId>& ids) const override;

 private:
  Result<void> addMerge(const TokenIndex& index, std::string_view rule, std::int32_t rank);
  Result<void> encodeWord(std::string_view word, std::vector<TokenId>& symbols) const;

  std::unique_ptr<PreTokenizer> m_preTokenizer;
  BpeMerger m_merger;
  std::array<TokenId, 256> m_byteIds{};
  std::unordered_map<std::string, TokenId> m_wholeWords;  // by bytes; only when merges are ignored
};

Result<void> ByteBpeTokenizer::buildTables() {
  TokenIndex index;
  index.reserve(m_vocabulary.tokens.size());
  for (std::size_t at = 0; at < m_vocabulary.tokens.size(); ++at) {
    const auto id = static_cast<TokenId>(at);
    if (typeOf(id) == TokenType::Control || typeOf(id) == TokenType::Unknown) continue;
    index.emplace(textOf(id), id);
    if (m_preTokenizer->ignoresMerges() && typeOf(id) == TokenType::Normal) {
      m_wholeWords.emplace(pieceBytes(id, true), id);
    }
  }
  const auto letters = byteLetters();
  for (std::size_t byte = 0; byte < 256; ++byte) {
    std::string letter;
    appendUtf8(letter, letters[byte]);
    const auto found = index.find(letter);
    m_byteIds[byte] = found == index.end() ? -1 : found->second;
  }
  m_merger.reserve(m_vocabulary.merges.size());
  std::int32_t rank = 0;
  for (const std::string& rule : m_vocabulary.merges) TRY_VOID(addMerge(index, rule, rank++));
  m_vocabulary.merges = {};
  return {};
}

Result<void> ByteBpeTokenizer::addMerge(const TokenIndex& index,
                                        std::string_view rule,
                                        std::int32_t rank) {
  const std::size_t space = rule.find(' ', 1);
  if (space == std::string_view::npos) {
    return Error{ErrorCode::CorruptFile,
                 fmt::format("merge {} (\"{}\") is not two tokens", rank, rule)};
  }
  const std::string_view left = rule.substr(0, space), right = rule.substr(space + 1);
  const std::string merged = std::string(left).append(right);
  std::array<TokenId, 3> ids{};
  std::size_t at = 0;
  for (const std::string_view part : {left, right, std::string_view(merged)}) {
    const auto found = index.find(part);
    if (found == index.end()) {
      return Error{ErrorCode::CorruptFile,
                   fmt::format("merge {} (\"{}\") needs token \"{}\", which the vocabulary lacks",
                               rank, rule, part)};
    }
    ids[at++] = found->second;
  }
  m_merger.add(ids[0], ids[1], ids[2], rank);
  return {};
}

Result<void> ByteBpeTokenizer::encodePlain(std::string_view text,
                                           bool /*afterSpecial*/,
                                           std::vector<TokenId>& ids) const {
  const std::vector<std::string_view> words = TRY(m_preTokenizer->split(text));
  // A word seen before in this text: where its ids begin in `ids`, and how many they are.
  std::unordered_map<std::string_view, std::pair<std::size_t, std::size_t>> seen;
  std::vector<TokenId> symbols;
  for (const std::string_view word : words) {
    Pace::breathe();
    if (const auto found = seen.find(word); found != seen.end()) {
      const auto [begin, count] = found->second;
      for (std::size_t at = 0; at < count; ++at) ids.push_back(ids[begin + at]);
      continue;
    }
    TRY_VOID(encodeWord(word, symbols));
    if (word.size() <= kMaxCachedWord) seen.emplace(word, std::pair(ids.size(), symbols.size()));
    ids.insert(ids.end(), symbols.begin(), symbols.end());
  }
  return {};
}

Result<void> ByteBpeTokenizer::encodeWord(std::string_view word,
                                          std::vector<TokenId>& symbols) const {
  symbols.clear();
  if (m_preTokenizer->ignoresMerges()) {
    if (const auto found = m_wholeWords.find(std::string(word)); found != m_wholeWords.end()) {
      symbols.push_back(found->second);
      return {};
    }
  }
  for (const char character : word) {
    const auto byte = static_cast<unsigned char>(character);
    if (m_byteIds[byte] < 0) {
      return Error{
          ErrorCode::InvalidArgument,
          fmt::format("the vocabulary has no token for byte 0x{:02X}, which the text holds",
                      static_cast<unsigned>(byte))};
    }
    symbols.push_back(m_byteIds[byte]);
  }
  m_merger.merge(symbols);
  return {};
}

std::string ByteBpeTokenizer::pieceBytes(TokenId id, bool writeControl) const {
  if (!isInVocabulary(id)) return {};
  switch (typeOf(id)) {
    case TokenType::Control:
    case TokenType::Unknown:
    case TokenType::Unused:
      return writeControl ? textOf(id) : std::string();
    case TokenType::UserDefined:
      return textOf(id);
    case TokenType::Byte:
      if (const int byte = byteOfToken(textOf(id)); byte >= 0) {
        return std::string(1, static_cast<char>(byte));
      }
      break;
    case TokenType::Undefined:
    case TokenType::Normal:
      break;
  }
  return bytesOfLetters(textOf(id));
}

std::string ByteBpeTokenizer::decode(const std::vector<TokenId>& ids, bool writeControl) const {
  std::string bytes;
  for (const TokenId id : ids) bytes += pieceBytes(id, writeControl);
  return bytes;
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> createByteBpeTokenizer(Vocabulary vocabulary) {
  std::unique_ptr<PreTokenizer> preTokenizer = TRY(PreTokenizer::create(vocabulary.pre));
  auto tokenizer =
      std::make_unique<ByteBpeTokenizer>(std::move(vocabulary), std::move(preTokenizer));
  TRY_VOID(tokenizer->buildTables());
  return std::unique_ptr<Tokenizer>(std::move(tokenizer));
}

}  // namespace engine::text
