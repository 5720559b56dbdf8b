#include "engine/model/gguf_vocabulary.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "engine/model/safe_text.h"

namespace engine::model {

namespace {

using text::TokenType;
using text::Vocabulary;
using text::VocabularyKind;

// More ids than this would not fit TokenId arithmetic of samplers and bias lists.
constexpr std::size_t kMaxTokens = std::size_t{1} << 24;

Error corrupt(const GgufFile& file, std::string_view what) {
  return fileError(ErrorCode::CorruptFile, file.path(), what);
}

VocabularyKind kindOf(std::string_view model) {
  if (model == "gpt2") return VocabularyKind::ByteBpe;
  if (model == "llama") return VocabularyKind::SentencePiece;
  return VocabularyKind::Unsupported;
}

// llama-3 files written before tokenizer.ggml.add_bos_token existed still want their BOS.
bool addsBosByDefault(const Vocabulary& vocabulary) {
  if (vocabulary.kind == VocabularyKind::SentencePiece) return true;
  constexpr std::array<std::string_view, 3> kRules = {"llama-bpe", "llama3", "llama-v3"};
  return std::ranges::find(kRules, vocabulary.pre) != kRules.end();
}

Result<void> checkLength(const GgufFile& file,
                         std::string_view key,
                         std::size_t found,
                         std::size_t expected) {
  if (found == expected) return {};
  return corrupt(file, fmt::format("{} has {} elements for {} tokens", key, found, expected));
}

Result<void> readTokens(const GgufFile& file, Vocabulary& out) {
  auto tokens = TRY(file.metadata().texts("tokenizer.ggml.tokens"));
  if (!tokens || tokens->empty()) {
    return fileError(ErrorCode::Unsupported, file.path(),
                     "holds no vocabulary (tokenizer.ggml.tokens)");
  }
  if (tokens->size() > kMaxTokens) {
    return corrupt(file, fmt::format("has {} tokens, the limit is {}", tokens->size(), kMaxTokens));
  }
  out.tokens = std::move(*tokens);
  return {};
}

Result<void> readTypes(const GgufFile& file, Vocabulary& out) {
  const std::string_view key = "tokenizer.ggml.token_type";
  const auto types = TRY(file.metadata().integers(key));
  if (!types) {
    out.types.assign(out.tokens.size(), TokenType::Normal);
    return {};
  }
  TRY_VOID(checkLength(file, key, types->size(), out.tokens.size()));
  out.types.reserve(types->size());
  for (const std::int64_t type : *types) {
    if (type < 0 || type > static_cast<int>(TokenType::Byte)) {
      return corrupt(file, fmt::format("{} holds {}, types are 0 to 6", key, type));
    }
    out.types.push_back(static_cast<TokenType>(type));
  }
  return {};
}

Result<void> readScores(const GgufFile& file, Vocabulary& out) {
  const std::string_view key = "tokenizer.ggml.scores";
  auto scores = TRY(file.metadata().numbers(key));
  if (!scores || scores->empty()) return {};
  TRY_VOID(checkLength(file, key, scores->size(), out.tokens.size()));
  out.scores = std::move(*scores);
  return {};
}

// An absent id stays as it is; 2^32-1 and -1 are how writers say "none".
Result<void> readId(const GgufFile& file,
                    std::string_view key,
                    std::size_t numTokens,
                    TokenId& out) {
  const auto value = TRY(file.metadata().integer(key));
  if (!value) return {};
  const bool isNone = *value == -1 || *value == std::numeric_limits<std::uint32_t>::max();
  if (!isNone && (*value < 0 || *value >= static_cast<std::int64_t>(numTokens))) {
    return corrupt(file,
                   fmt::format("{} is {}, the vocabulary has {} tokens", key, *value, numTokens));
  }
  out = isNone ? -1 : static_cast<TokenId>(*value);
  return {};
}

Result<void> readIds(const GgufFile& file, Vocabulary& out) {
  const auto size = static_cast<TokenId>(out.tokens.size());
  if (out.kind == VocabularyKind::SentencePiece) {
    out.unknown = size > 0 ? 0 : -1;
    out.bos = size > 1 ? 1 : -1;
    out.eos = size > 2 ? 2 : -1;
  }
  const std::pair<const char*, TokenId*> ids[] = {
      {"tokenizer.ggml.bos_token_id", &out.bos},         {"tokenizer.ggml.eos_token_id", &out.eos},
      {"tokenizer.ggml.eot_token_id", &out.eot},         {"tokenizer.ggml.eom_token_id", &out.eom},
      {"tokenizer.ggml.unknown_token_id", &out.unknown},
  };
  for (const auto& [key, id] : ids) TRY_VOID(readId(file, key, out.tokens.size(), *id));
  // Never used to compute; old files name one past the end.
  const auto padding = TRY(file.metadata().integer("tokenizer.ggml.padding_token_id"));
  if (padding && *padding >= 0 && *padding < size) out.padding = static_cast<TokenId>(*padding);
  return {};
}

Result<void> readFlags(const GgufFile& file, Vocabulary& out) {
  const GgufMetadata& metadata = file.metadata();
  out.addBos =
      TRY(metadata.boolean("tokenizer.ggml.add_bos_token")).value_or(addsBosByDefault(out));
  out.addEos = TRY(metadata.boolean("tokenizer.ggml.add_eos_token")).value_or(false);
  out.addSpacePrefix = TRY(metadata.boolean("tokenizer.ggml.add_space_prefix"))
                           .value_or(out.kind == VocabularyKind::SentencePiece);
  return {};
}

}  // namespace

Result<Vocabulary> readVocabulary(const GgufFile& file) {
  const GgufMetadata& metadata = file.metadata();
  Vocabulary out;
  out.model = TRY(metadata.text("tokenizer.ggml.model")).value_or("");
  out.kind = kindOf(out.model);
  out.pre = TRY(metadata.text("tokenizer.ggml.pre")).value_or("");
  TRY_VOID(readTokens(file, out));
  TRY_VOID(readTypes(file, out));
  TRY_VOID(readScores(file, out));
  out.merges = TRY(metadata.texts("tokenizer.ggml.merges")).value_or(std::vector<std::string>());
  TRY_VOID(readIds(file, out));
  TRY_VOID(readFlags(file, out));
  out.chatTemplate = TRY(metadata.text("tokenizer.chat_template")).value_or("");
  return out;
}

}  // namespace engine::model
