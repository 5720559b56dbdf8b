// Token ids one by one to whole characters: what is shown is never half a character and never
// taken back.
#pragma once

#include <string>

#include "engine/base/ids.h"
#include "engine/text/tokenizer.h"

namespace engine::text {

// One sequence's decoder; not thread-safe. The tokenizer must outlive it.
class StreamDecoder {
 public:
  explicit StreamDecoder(const Tokenizer& tokenizer, bool writeControl = false)
      : m_tokenizer(&tokenizer), m_writeControl(writeControl) {}

  // Text that became certain with this token; often empty inside a character. Bytes that can never
  // become a character are written as U+FFFD.
  std::string feed(TokenId id);

  // At the end of the sequence: an unfinished character as U+FFFD, else empty.
  std::string flush();

 private:
  const Tokenizer* m_tokenizer;
  bool m_writeControl = false;
  std::string m_tail;  // the bytes of one unfinished character, at most 3
};

}  // namespace engine::text
