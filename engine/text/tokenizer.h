// Text to token ids and back.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/result.h"
#include "engine/text/origin_text.h"
#include "engine/text/vocabulary.h"

namespace engine::text {

enum class SpecialTokens : std::uint8_t {
  AddAndMatch,  // BOS/EOS as the file says (never a second BOS), control tokens matched
  MatchOnly,    // control tokens matched, nothing added
  Plain,        // neither; user-defined tokens still match
};

// Immutable after creation, thread-safe.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // InvalidArgument with the byte offset when `text` is not UTF-8.
  virtual Result<std::vector<TokenId>> encode(const OriginText& text, SpecialTokens mode) const = 0;

  // A raw prompt: all of it may hold control tokens when `mode` matches them.
  Result<std::vector<TokenId>> encodeRaw(std::string_view text, SpecialTokens mode) const;

  // Bytes of one token as they appear in running text; may be part of a character. Control tokens
  // are written out by name only when `writeControl`. Ids outside the vocabulary give "".
  virtual std::string pieceBytes(TokenId id, bool writeControl) const = 0;

  // Bytes of a whole sequence (sentencepiece drops the leading space it added).
  virtual std::string decode(const std::vector<TokenId>& ids, bool writeControl) const = 0;

  virtual const Vocabulary& vocabulary() const = 0;
  // Sorted ids that end a turn: eos, eot, eom and the control tokens known by name.
  virtual const std::vector<TokenId>& endOfGeneration() const = 0;
};

// Unsupported, naming it, for an unknown tokenizer model or pre-tokenizer rule.
Result<std::unique_ptr<Tokenizer>> createTokenizer(Vocabulary vocabulary);

}  // namespace engine::text
