// Writes the model file that the sentencepiece library reads, from a vocabulary.
#pragma once

#include <string>

#include "engine/base/ids.h"
#include "engine/text/vocabulary.h"

namespace engine::text {

struct SentencePieceModel {
  std::string serialized;     // a ModelProto in protobuf wire format
  TokenId unknownPiece = -1;  // what the library gives for text that no piece writes
};

// One piece for each token, ids kept (plus one <unk> at the end where the vocabulary has none), and
// what the library would refuse made harmless: see the body. No dummy prefix: the tokenizer adds
// it.
SentencePieceModel writeSentencePieceModel(const Vocabulary& vocabulary);

// Spaces as sentencepiece writes them (U+2581), and back.
std::string escapeSpaces(const std::string& text);
std::string unescapeSpaces(const std::string& piece);

}  // namespace engine::text
