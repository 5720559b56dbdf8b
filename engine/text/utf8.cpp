#include "engine/text/utf8.h"

#include "engine/base/check.h"

namespace engine::text {

namespace {

// What may follow a lead byte (Unicode 15, table 3-7): the second byte's range and the length.
struct LeadByte {
  std::size_t length = 0;  // 0 = cannot lead
  unsigned char secondLow = 0x80;
  unsigned char secondHigh = 0xBF;
};

LeadByte leadByte(unsigned char byte) {
  if (byte < 0x80) return {1};
  if (byte < 0xC2 || byte > 0xF4) return {0};
  if (byte < 0xE0) return {2};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte < 0xF0) return {3};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {4};
}

}  // namespace

Utf8Unit firstUtf8Unit(std::string_view bytes) {
  CHECK(!bytes.empty());
  const LeadByte lead = leadByte(static_cast<unsigned char>(bytes[0]));
  if (lead.length == 0) return {Utf8Kind::Broken, 1};
  for (std::size_t at = 1; at < lead.length; ++at) {
    if (at == bytes.size()) return {Utf8Kind::Incomplete, at};
    const auto byte = static_cast<unsigned char>(bytes[at]);
    const unsigned char low = at == 1 ? lead.secondLow : 0x80;
    const unsigned char high = at == 1 ? lead.secondHigh : 0xBF;
    if (byte < low || byte > high) return {Utf8Kind::Broken, at};
  }
  return {Utf8Kind::Whole, lead.length};
}

std::optional<std::size_t> findInvalidUtf8(std::string_view bytes) {
  std::size_t at = 0;
  while (at < bytes.size()) {
    if (static_cast<unsigned char>(bytes[at]) < 0x80) {
      ++at;
      continue;
    }
    const Utf8Unit unit = firstUtf8Unit(bytes.substr(at));
    if (unit.kind != Utf8Kind::Whole) return at;
    at += unit.length;
  }
  return std::nullopt;
}

std::string repairUtf8(std::string_view bytes) {
  std::string repaired;
  repaired.reserve(bytes.size());
  while (!bytes.empty()) {
    const Utf8Unit unit = firstUtf8Unit(bytes);
    repaired += unit.kind == Utf8Kind::Whole ? bytes.substr(0, unit.length) : kReplacementCharacter;
    bytes.remove_prefix(unit.length);
  }
  return repaired;
}

void appendUtf8(std::string& out, char32_t codePoint) {
  const auto push = [&out](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (codePoint < 0x80) {
    push(codePoint);
  } else if (codePoint < 0x800) {
    push(0xC0 | codePoint >> 6);
    push(0x80 | (codePoint & 0x3F));
  } else if (codePoint < 0x10000) {
    push(0xE0 | codePoint >> 12);
    push(0x80 | (codePoint >> 6 & 0x3F));
    push(0x80 | (codePoint & 0x3F));
  } else {
    push(0xF0 | codePoint >> 18);
    push(0x80 | (codePoint >> 12 & 0x3F));
    push(0x80 | (codePoint >> 6 & 0x3F));
    push(0x80 | (codePoint & 0x3F));
  }
}

char32_t codePointOf(std::string_view character) {
  CHECK(!character.empty());
  const auto lead = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return lead;
  char32_t codePoint = lead & (0x7F >> character.size());
  for (std::size_t at = 1; at < character.size(); ++at) {
    codePoint = codePoint << 6 | (static_cast<unsigned char>(character[at]) & 0x3F);
  }
  return codePoint;
}

}  // namespace engine::text
