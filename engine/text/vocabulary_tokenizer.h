// What both tokenizer kinds share: checks, special tokens, BOS and EOS, end-of-turn ids.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/text/special_matcher.h"
#include "engine/text/tokenizer.h"

namespace engine::text {

// Checks and completes a vocabulary as a file gave it: types filled in, ids inside the vocabulary,
// turn markers typed as control tokens whatever the file says (else user text could hold one).
// CorruptFile, naming what does not fit.
Result<void> repairVocabulary(Vocabulary& vocabulary);

// Immutable after creation, thread-safe.
class VocabularyTokenizer : public Tokenizer {
 public:
  VocabularyTokenizer(const VocabularyTokenizer&) = delete;  // the matcher points into it
  VocabularyTokenizer& operator=(const VocabularyTokenizer&) = delete;

  Result<std::vector<TokenId>> encode(const OriginText& text, SpecialTokens mode) const final;

  const Vocabulary& vocabulary() const final { return m_vocabulary; }

  const std::vector<TokenId>& endOfGeneration() const final { return m_endOfGeneration; }

 protected:
  // `vocabulary` as repairVocabulary() left it.
  VocabularyTokenizer(Vocabulary vocabulary, bool matchUserDefined);

  // Appends the ids of UTF-8 text that holds no special token. `afterSpecial`: it begins the whole
  // text or follows a matched token.
  virtual Result<void> encodePlain(std::string_view text,
                                   bool afterSpecial,
                                   std::vector<TokenId>& ids) const = 0;

  bool isInVocabulary(TokenId id) const {
    return id >= 0 && static_cast<std::size_t>(id) < m_vocabulary.tokens.size();
  }

  TokenType typeOf(TokenId id) const { return m_vocabulary.types[static_cast<std::size_t>(id)]; }

  const std::string& textOf(TokenId id) const {
    return m_vocabulary.tokens[static_cast<std::size_t>(id)];
  }

  Vocabulary m_vocabulary;

 private:
  SpecialMatcher m_matcher;
  std::vector<TokenId> m_endOfGeneration;
};

// The byte that a token "<0x0A>" stands for, or -1.
int byteOfToken(std::string_view text);

}  // namespace engine::text
