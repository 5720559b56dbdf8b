// Small made-up vocabularies, so that text tests need no model file.
#pragma once

#include <string>
#include <vector>

#include "engine/text/tokenizer.h"
#include "engine/text/vocabulary.h"

namespace test_support {

// Byte BPE: ids 0..255 are the bytes in order, then one token for each merge ("h e", letters as
// byte BPE writes them), then what addToken() appends.
engine::text::Vocabulary byteBpeVocabulary(const std::string& rule,
                                           const std::vector<std::string>& merges);

// Sentencepiece: <unk> 0, <s> 1, </s> 2, the bytes 3..258, then `pieces` in order, best first.
// BOS is added, the leading space too.
engine::text::Vocabulary sentencePieceVocabulary(const std::vector<std::string>& pieces);

// Returns the new token's id.
engine::TokenId addToken(engine::text::Vocabulary& vocabulary,
                         const std::string& text,
                         engine::text::TokenType type);

// The letter that stands for a byte in a byte BPE vocabulary.
std::string byteLetter(unsigned char byte);

// The id of the token with this text, or -1.
engine::TokenId idOf(const engine::text::Vocabulary& vocabulary, const std::string& text);

}  // namespace test_support
