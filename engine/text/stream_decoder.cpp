#include "engine/text/stream_decoder.h"

#include <string_view>

#include "engine/text/utf8.h"

namespace engine::text {

std::string StreamDecoder::feed(TokenId id) {
  const std::string bytes = m_tail + m_tokenizer->pieceBytes(id, m_writeControl);
  std::string text;
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const Utf8Unit unit = firstUtf8Unit(rest);
    if (unit.kind == Utf8Kind::Incomplete) break;
    text += unit.kind == Utf8Kind::Whole ? rest.substr(0, unit.length) : kReplacementCharacter;
    rest.remove_prefix(unit.length);
  }
  m_tail = rest;
  return text;
}

std::string StreamDecoder::flush() {
  const std::string text = repairUtf8(m_tail);
  m_tail.clear();
  return text;
}

}  // namespace engine::text
