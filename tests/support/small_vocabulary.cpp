#include "tests/support/small_vocabulary.h"

#include <algorithm>

#include <fmt/format.h>

namespace test_support {

using engine::TokenId;
using engine::text::TokenType;
using engine::text::Vocabulary;
using engine::text::VocabularyKind;

std::string byteLetter(unsigned char byte) {
  // The alphabet in the order of GPT-2's table: printing bytes stand for themselves.
  const auto prints = [](int b) { return (b >= 33 && b <= 126) || (b >= 161 && b != 173); };
  int letter = byte;
  if (!prints(byte)) {
    letter = 256;
    for (int before = 0; before < byte; ++before) letter += prints(before) ? 0 : 1;
  }
  if (letter < 128) return std::string(1, static_cast<char>(letter));
  return {static_cast<char>(0xC0 | letter >> 6), static_cast<char>(0x80 | (letter & 0x3F))};
}

Vocabulary byteBpeVocabulary(const std::string& rule, const std::vector<std::string>& merges) {
  Vocabulary vocabulary;
  vocabulary.kind = VocabularyKind::ByteBpe;
  vocabulary.model = "gpt2";
  vocabulary.pre = rule;
  vocabulary.addSpacePrefix = false;
  for (int byte = 0; byte < 256; ++byte) {
    addToken(vocabulary, byteLetter(static_cast<unsigned char>(byte)), TokenType::Normal);
  }
  for (const std::string& merge : merges) {
    const std::size_t space = merge.find(' ', 1);
    addToken(vocabulary, merge.substr(0, space) + merge.substr(space + 1), TokenType::Normal);
    vocabulary.merges.push_back(merge);
  }
  return vocabulary;
}

Vocabulary sentencePieceVocabulary(const std::vector<std::string>& pieces) {
  Vocabulary vocabulary;
  vocabulary.kind = VocabularyKind::SentencePiece;
  vocabulary.model = "llama";
  vocabulary.unknown = addToken(vocabulary, "<unk>", TokenType::Unknown);
  vocabulary.bos = addToken(vocabulary, "<s>", TokenType::Control);
  vocabulary.eos = addToken(vocabulary, "</s>", TokenType::Control);
  vocabulary.addBos = true;
  for (int byte = 0; byte < 256; ++byte) {
    addToken(vocabulary, fmt::format("<0x{:02X}>", byte), TokenType::Byte);
  }
  for (const std::string& piece : pieces) addToken(vocabulary, piece, TokenType::Normal);
  return vocabulary;
}

TokenId addToken(Vocabulary& vocabulary, const std::string& text, TokenType type) {
  const auto id = static_cast<TokenId>(vocabulary.tokens.size());
  vocabulary.tokens.push_back(text);
  vocabulary.types.push_back(type);
  if (vocabulary.kind == VocabularyKind::SentencePiece) {
    vocabulary.scores.push_back(-static_cast<float>(id));
  }
  return id;
}

TokenId idOf(const Vocabulary& vocabulary, const std::string& text) {
  const auto found = std::find(vocabulary.tokens.begin(), vocabulary.tokens.end(), text);
  return found == vocabulary.tokens.end() ? -1
                                          : static_cast<TokenId>(found - vocabulary.tokens.begin());
}

}  // namespace test_support
