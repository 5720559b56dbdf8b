#include "tests/support/tiny_vocabulary.h"

#include <string_view>

#include <fmt/format.h>

#include "engine/base/check.h"

namespace test_support {

namespace {

constexpr const char* kChatMl =
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

enum TokenKind : std::int32_t { kNormal = 1, kUnknown = 2, kControl = 3, kUnused = 5, kByte = 6 };

struct Tokens {
  std::vector<std::string> texts, merges;
  std::vector<std::int32_t> types;
  std::vector<float> scores;

  void add(std::string text, std::int32_t type, float score = 0.0f) {
    texts.push_back(std::move(text));
    types.push_back(type);
    scores.push_back(score);
  }
};

std::string utf8Of(std::uint32_t point) {
  if (point < 0x80) return {static_cast<char>(point)};
  return {static_cast<char>(0xC0 | (point >> 6)), static_cast<char>(0x80 | (point & 0x3F))};
}

bool isPrintable(int byte) {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

Tokens byteBpeTokens() {
  Tokens out;
  for (int byte = 0; byte < 256; ++byte) out.add(byteLevelText(static_cast<std::uint8_t>(byte)), 1);
  for (const char* name : {"<|endoftext|>", "<|im_start|>", "<|im_end|>"}) out.add(name, kControl);
  const std::string space = byteLevelText(' '), newline = byteLevelText('\n');
  const std::pair<std::string, std::string> merges[] = {
      {"h", "e"}, {"l", "l"},   {space, "t"}, {space + "t", "he"}, {newline, newline},
      {"i", "n"}, {space, "a"}, {"e", "r"},   {"o", "n"},          {"in", "g"}};
  for (const auto& [left, right] : merges) {
    out.merges.push_back(left + " " + right);
    out.add(left + right, kNormal);
  }
  return out;
}

Tokens sentencePieceTokens() {
  Tokens out;
  out.add("<unk>", kUnknown);
  out.add("<s>", kControl);
  out.add("</s>", kControl);
  for (int byte = 0; byte < 256; ++byte) out.add(fmt::format("<0x{:02X}>", byte), kByte);
  out.add("<|im_start|>", kControl);
  out.add("<|im_end|>", kControl);
  const std::string space = "\xE2\x96\x81";  // the mark that stands for a space
  const std::string pieces[] = {"he",  space + "t", space + "the", "in", space + "a",
                                "ing", "er",        "on",          "ll", space + space};
  float score = -1.0f;  // earlier merges score higher
  for (const std::string& piece : pieces) out.add(piece, kNormal, score--);
  out.add(space, kNormal, score--);
  for (int c = 33; c < 127; ++c) out.add(std::string(1, static_cast<char>(c)), kNormal, score--);
  return out;
}

Tokens tokensOf(const TinyModelSpec& spec) {
  Tokens out = spec.vocabulary == TinyVocabulary::ByteBpe ? byteBpeTokens() : sentencePieceTokens();
  const auto wanted = static_cast<std::size_t>(spec.vocabSize);
  CHECK(wanted == 0 || wanted >= out.texts.size());
  while (out.texts.size() < wanted) out.add(fmt::format("[PAD{}]", out.texts.size()), kUnused);
  return out;
}

}  // namespace

std::string byteLevelText(std::uint8_t byte) {
  if (isPrintable(byte)) return utf8Of(byte);
  std::uint32_t rank = 0;
  for (int lower = 0; lower < byte; ++lower) rank += isPrintable(lower) ? 0 : 1;
  return utf8Of(256 + rank);
}

int tinyVocabSize(const TinyModelSpec& spec) {
  return static_cast<int>(tokensOf(spec).texts.size());
}

void addTinyVocabulary(const TinyModelSpec& spec, GgufWriter& writer) {
  const Tokens tokens = tokensOf(spec);
  const bool isBpe = spec.vocabulary == TinyVocabulary::ByteBpe;
  writer.add("tokenizer.ggml.model", isBpe ? "gpt2" : "llama");
  writer.add("tokenizer.ggml.pre", isBpe ? "smollm" : "default");
  writer.add("tokenizer.ggml.tokens", tokens.texts);
  writer.add("tokenizer.ggml.token_type", tokens.types);
  if (isBpe) writer.add("tokenizer.ggml.merges", tokens.merges);
  if (!isBpe) writer.add("tokenizer.ggml.scores", tokens.scores);
  writer.add("tokenizer.ggml.bos_token_id",
             static_cast<std::uint32_t>(isBpe ? kTinyBpeImStart : kTinySpmBos));
  writer.add("tokenizer.ggml.eos_token_id",
             static_cast<std::uint32_t>(isBpe ? kTinyBpeImEnd : kTinySpmEos));
  if (!isBpe) {
    writer.add("tokenizer.ggml.unknown_token_id", static_cast<std::uint32_t>(kTinySpmUnknown));
  }
  writer.add("tokenizer.ggml.add_bos_token", spec.addBos);
  if (spec.chatTemplate) writer.add("tokenizer.chat_template", kChatMl);
}

}  // namespace test_support
