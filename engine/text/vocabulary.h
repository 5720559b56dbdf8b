// A tokenizer's data as a model file holds it. Plain values; filled by engine/model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/ids.h"

namespace engine::text {

enum class TokenType : std::uint8_t {
  Undefined = 0, Normal = 1, Unknown = 2, Control = 3, UserDefined = 4, Unused = 5, Byte = 6
};

enum class VocabularyKind : std::uint8_t { ByteBpe, SentencePiece, Unsupported };

struct Vocabulary {
  VocabularyKind kind = VocabularyKind::Unsupported;
  std::string model;  // tokenizer.ggml.model: "gpt2", "llama"
  std::string pre;    // tokenizer.ggml.pre: "smollm", "qwen2"
  std::vector<std::string> tokens;
  std::vector<float> scores;       // sentencepiece; may be empty
  std::vector<TokenType> types;    // [tokens.size()]
  std::vector<std::string> merges;  // byte BPE: "left right", best first
  TokenId bos = -1, eos = -1, eot = -1, eom = -1, unknown = -1, padding = -1;
  bool addBos = false, addEos = false, addSpacePrefix = true;
  std::string chatTemplate;  // empty = none in the file
};

}  // namespace engine::text
