#include "engine/text/sentencepiece_model.h"

#include <array>
#include <bit>
#include <cstdint>
#include <string_view>
#include <unordered_set>

#include <fmt/format.h>

#include "engine/text/vocabulary_tokenizer.h"

namespace engine::text {

namespace {

constexpr std::string_view kSpace = "\xE2\x96\x81";  // U+2581

// Appends protobuf fields (developers.google.com/protocol-buffers/docs/encoding).
class WireWriter {
 public:
  void writeVarint(std::uint32_t field, std::uint64_t value) {
    append(field << 3);
    append(value);
  }

  void writeFloat(std::uint32_t field, float value) {
    append(field << 3 | 5);
    const auto bits = std::bit_cast<std::uint32_t>(value);
    for (int shift = 0; shift < 32; shift += 8) {
      m_bytes.push_back(static_cast<char>(bits >> shift & 0xFF));
    }
  }

  void writeBytes(std::uint32_t field, std::string_view value) {
    append(field << 3 | 2);
    append(value.size());
    m_bytes += value;
  }

  const std::string& bytes() const { return m_bytes; }

 private:
  void append(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) m_bytes.push_back(static_cast<char>(0x80 | (value & 0x7F)));
    m_bytes.push_back(static_cast<char>(value));
  }

  std::string m_bytes;
};

// Field numbers of sentencepiece_model.proto.
enum ModelField : std::uint32_t { kPieces = 1, kTrainerSpec = 2, kNormalizerSpec = 3 };

enum PieceField : std::uint32_t { kPieceText = 1, kPieceScore = 2, kPieceType = 3 };

enum TrainerField : std::uint32_t { kModelType = 3, kByteFallback = 35, kUnkId = 40 };

enum NormalizerField : std::uint32_t {
  kAddDummyPrefix = 3,
  kRemoveExtraWhitespaces = 4,
  kEscapeWhitespaces = 5
};

constexpr std::uint64_t kModelTypeBpe = 2;

bool hasAllBytes(const Vocabulary& vocabulary) {
  std::array<bool, 256> seen{};
  std::size_t count = 0;
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    if (vocabulary.types[id] != TokenType::Byte) continue;
    const int byte = byteOfToken(vocabulary.tokens[id]);
    if (byte < 0 || seen[static_cast<std::size_t>(byte)]) continue;
    seen[static_cast<std::size_t>(byte)] = true;
    ++count;
  }
  return count == seen.size();
}

TokenId findUnknown(const Vocabulary& vocabulary) {
  if (vocabulary.unknown >= 0) return vocabulary.unknown;
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    if (vocabulary.types[id] == TokenType::Unknown) return static_cast<TokenId>(id);
  }
  return static_cast<TokenId>(vocabulary.tokens.size());
}

void writePiece(WireWriter& model, const std::string& text, float score, TokenType type) {
  WireWriter piece;
  piece.writeBytes(kPieceText, text);
  piece.writeFloat(kPieceScore, score);
  piece.writeVarint(kPieceType, static_cast<std::uint64_t>(type));
  model.writeBytes(kPieces, piece.bytes());
}

// The library wants exactly one unknown piece, byte pieces only with byte fallback, texts that are
// neither empty nor double, and user-defined pieces with their spaces escaped. Whatever does not
// fit becomes a control piece, which never matches text.
void writePieces(WireWriter& model, const Vocabulary& vocabulary, TokenId unknown, bool hasBytes) {
  std::unordered_set<std::string> seen;
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    TokenType type = vocabulary.types[id];
    std::string text = vocabulary.tokens[id];
    if (type == TokenType::UserDefined) text = escapeSpaces(text);
    if (type == TokenType::Undefined) type = TokenType::Normal;
    const bool isStrayByte = type == TokenType::Byte && (!hasBytes || byteOfToken(text) < 0);
    if (type == TokenType::Unknown || isStrayByte) type = TokenType::Control;
    if (static_cast<TokenId>(id) == unknown) type = TokenType::Unknown;
    if (text.empty() || !seen.insert(text).second) {
      text = fmt::format("\x01piece {}", id);
      if (type != TokenType::Unknown) type = TokenType::Control;
    }
    const float score = vocabulary.scores.empty() ? -static_cast<float>(id) : vocabulary.scores[id];
    writePiece(model, text, score, type);
  }
  if (static_cast<std::size_t>(unknown) == vocabulary.tokens.size()) {
    writePiece(model, "\x01unknown", 0.0f, TokenType::Unknown);
  }
}

}  // namespace

SentencePieceModel writeSentencePieceModel(const Vocabulary& vocabulary) {
  const TokenId unknown = findUnknown(vocabulary);
  const bool hasBytes = hasAllBytes(vocabulary);
  WireWriter model;
  writePieces(model, vocabulary, unknown, hasBytes);

  WireWriter trainer;
  trainer.writeVarint(kModelType, kModelTypeBpe);
  trainer.writeVarint(kByteFallback, hasBytes ? 1 : 0);
  trainer.writeVarint(kUnkId, static_cast<std::uint64_t>(unknown));
  model.writeBytes(kTrainerSpec, trainer.bytes());

  WireWriter normalizer;
  normalizer.writeVarint(kAddDummyPrefix, 0);
  normalizer.writeVarint(kRemoveExtraWhitespaces, 0);
  normalizer.writeVarint(kEscapeWhitespaces, 1);
  model.writeBytes(kNormalizerSpec, normalizer.bytes());
  return {model.bytes(), unknown};
}

std::string escapeSpaces(const std::string& text) {
  std::string escaped;
  for (const char character : text) {
    if (character == ' ') {
      escaped += kSpace;
    } else {
      escaped.push_back(character);
    }
  }
  return escaped;
}

std::string unescapeSpaces(const std::string& piece) {
  std::string text;
  for (std::size_t at = 0; at < piece.size();) {
    if (piece.compare(at, kSpace.size(), kSpace) == 0) {
      text.push_back(' ');
      at += kSpace.size();
    } else {
      text.push_back(piece[at++]);
    }
  }
  return text;
}

}  // namespace engine::text
