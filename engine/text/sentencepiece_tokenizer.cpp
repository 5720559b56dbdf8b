#include "engine/text/sentencepiece_tokenizer.h"

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sentencepiece_processor.h>

#include "engine/text/score_merger.h"
#include "engine/text/sentencepiece_model.h"
#include "engine/text/vocabulary_tokenizer.h"

namespace engine::text {

namespace {

// Above, the library's microsecond a byte is felt: our own merging gives the same ids.
constexpr std::size_t kLongText = 1 << 14;

// The library matches user-defined pieces itself, before it merges.
class SentencePieceTokenizer final : public VocabularyTokenizer {
 public:
  explicit SentencePieceTokenizer(Vocabulary vocabulary)
      : VocabularyTokenizer(std::move(vocabulary), /*matchUserDefined=*/false) {}

  // Once, before use.
  Result<void> load();

  std::string pieceBytes(TokenId id, bool writeControl) const override;
  std::string decode(const std::vector<TokenId>& ids, bool writeControl) const override;

 protected:
  Result<void> encodePlain(std::string_view text,
                           bool afterSpecial,
                           std::vector<TokenId>& ids) const override;

 private:
  bool isSpecial(TokenId id) const {
    return typeOf(id) == TokenType::Control || typeOf(id) == TokenType::Unknown;
  }

  sentencepiece::SentencePieceProcessor m_processor;
  // Made for the first long text: its tables take a while and some memory.
  mutable std::once_flag m_mergerOnce;
  mutable std::unique_ptr<ScoreMerger> m_merger;  // null for vocabularies that it does not know
};

Result<void> SentencePieceTokenizer::load() {
  const SentencePieceModel model = writeSentencePieceModel(m_vocabulary);
  const auto status = m_processor.LoadFromSerializedProto(model.serialized);
  if (!status.ok()) {
    return Error{ErrorCode::CorruptFile,
                 fmt::format("the sentencepiece vocabulary is not usable: {}", status.ToString())};
  }
  return {};
}

Result<void> SentencePieceTokenizer::encodePlain(std::string_view text,
                                                 bool afterSpecial,
                                                 std::vector<TokenId>& ids) const {
  std::string prefixed;
  if (afterSpecial && m_vocabulary.addSpacePrefix) {
    prefixed.reserve(text.size() + 1);
    prefixed += ' ';
    prefixed += text;
    text = prefixed;
  }
  if (text.size() > kLongText) {
    std::call_once(m_mergerOnce, [this] { m_merger = ScoreMerger::create(m_vocabulary); });
    if (m_merger) {
      m_merger->encode(text, ids);
      return {};
    }
  }
  std::vector<int> pieces;
  const auto status = m_processor.Encode(text, &pieces);
  if (!status.ok()) {
    return Error{ErrorCode::Internal, fmt::format("sentencepiece failed: {}", status.ToString())};
  }
  for (const int piece : pieces) {
    if (!isInVocabulary(piece)) {
      return Error{ErrorCode::InvalidArgument,
                   "the text holds a character that the vocabulary cannot write"};
    }
    ids.push_back(piece);
  }
  return {};
}

std::string SentencePieceTokenizer::pieceBytes(TokenId id, bool writeControl) const {
  if (!isInVocabulary(id)) return {};
  if (isSpecial(id)) return writeControl ? textOf(id) : std::string();
  if (typeOf(id) == TokenType::Byte) {
    if (const int byte = byteOfToken(textOf(id)); byte >= 0) {
      return std::string(1, static_cast<char>(byte));
    }
  }
  return unescapeSpaces(textOf(id));
}

std::string SentencePieceTokenizer::decode(const std::vector<TokenId>& ids,
                                           bool writeControl) const {
  std::string bytes;
  bool dropsSpace = m_vocabulary.addSpacePrefix;
  for (const TokenId id : ids) {
    const std::string piece = pieceBytes(id, writeControl);
    const bool isWrittenControl = isInVocabulary(id) && isSpecial(id) && writeControl;
    const bool hasAddedSpace = dropsSpace && !isWrittenControl && !piece.empty() && piece[0] == ' ';
    bytes.append(piece, hasAddedSpace ? 1 : 0, std::string::npos);
    if (isWrittenControl) {
      dropsSpace = m_vocabulary.addSpacePrefix;
    } else if (!piece.empty()) {
      dropsSpace = false;
    }
  }
  return bytes;
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> createSentencePieceTokenizer(Vocabulary vocabulary) {
  auto tokenizer = std::make_unique<SentencePieceTokenizer>(std::move(vocabulary));
  TRY_VOID(tokenizer->load());
  return std::unique_ptr<Tokenizer>(std::move(tokenizer));
}

}  // namespace engine::text
