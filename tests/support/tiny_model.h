// Generates small real model files from a seed, so tests need no download.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kernels/core/dtype.h"
#include "tests/support/gguf_writer.h"

namespace test_support {

enum class TinyVocabulary { ByteBpe, SentencePiece };

// Ids that a tiny vocabulary always has. ByteBpe: 0-255 are the bytes; SentencePiece: bytes at
// 3-258.
inline constexpr int kTinyBpeEndOfText = 256, kTinyBpeImStart = 257, kTinyBpeImEnd = 258;
inline constexpr int kTinySpmUnknown = 0, kTinySpmBos = 1, kTinySpmEos = 2, kTinySpmByte0 = 3,
                     kTinySpmImStart = 259, kTinySpmImEnd = 260;

// The default is a llama of 2 layers, width 64, 4 heads on 2 key-value heads, float weights. The
// same spec gives the same bytes everywhere.
struct TinyModelSpec {
  std::string family = "llama";  // llama, qwen2, qwen3, gemma2, gemma3, phi3
  int layers = 2, hidden = 64, heads = 4, kvHeads = 2, headDim = 16, ffn = 96;
  int context = 512;
  // Columns (hidden, heads * headDim, ffn) must be a multiple of the type's block; see withType.
  kernels::DType type = kernels::DType::F32;
  std::optional<kernels::DType> embeddingType, outputType;  // empty = type
  bool tiedOutput = true;
  int window = 0;                                // attention.sliding_window; 0 = not in the file
  float attentionSoftCap = 0, finalSoftCap = 0;  // 0 = not in the file
  float ropeBase = 10000.0f;
  int ropeDims = 0;                              // 0 = not in the file
  std::string ropeScaling = "linear";            // in the file where one of the next two is
  float ropeScaleFactor = 0;                     // 0 = not in the file
  int originalContext = 0;                       // 0 = not in the file
  std::map<std::string, float> ropeScalingKeys;  // more: "attn_factor", "yarn_beta_fast"
  std::vector<float> ropeFactors;                // rope_freqs.weight; empty = none
  std::vector<float> longFactors, shortFactors;  // rope_factors_long.weight; empty = none
  TinyVocabulary vocabulary = TinyVocabulary::ByteBpe;
  int vocabSize = 0;  // 0 = as many as it needs; more are filled with unused tokens
  bool addBos = false;
  bool chatTemplate = true;  // ChatML
  std::uint64_t seed = 1;
  float weightScale = 1.0f;
};

// `spec` with every matrix of `type`, and widths rounded up to whole blocks of it.
TinyModelSpec withType(TinyModelSpec spec, kernels::DType type);

// To be changed or broken further, then written.
GgufWriter tinyModel(const TinyModelSpec& spec);

void writeTinyModel(const TinyModelSpec& spec, const std::string& path);

// Number of tokens that the vocabulary of `spec` has.
int tinyVocabSize(const TinyModelSpec& spec);

}  // namespace test_support
