#include "engine/text/tokenizer.h"

#include <utility>

#include <fmt/format.h>

#include "engine/text/byte_bpe_tokenizer.h"
#include "engine/text/sentencepiece_tokenizer.h"
#include "engine/text/vocabulary_tokenizer.h"

namespace engine::text {

Result<std::vector<TokenId>> Tokenizer::encodeRaw(std::string_view text, SpecialTokens mode) const {
  return encode({{std::string(text), Origin::Template}}, mode);
}

Result<std::unique_ptr<Tokenizer>> createTokenizer(Vocabulary vocabulary) {
  if (vocabulary.kind == VocabularyKind::Unsupported) {
    return Error{
        ErrorCode::Unsupported,
        fmt::format("tokenizer model \"{}\" is not one we run (gpt2, llama)", vocabulary.model)};
  }
  TRY_VOID(repairVocabulary(vocabulary));
  if (vocabulary.kind == VocabularyKind::ByteBpe)
    return createByteBpeTokenizer(std::move(vocabulary));
  return createSentencePieceTokenizer(std::move(vocabulary));
}

}  // namespace engine::text
