// What a step costs on ideal hardware: floating-point operations and bytes moved, as pure functions
// of shapes and lengths. The roofline, the simulator and the views count with these alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace engine::accounting {

// A decoder as far as its cost goes.
struct ModelShape {
  std::int64_t numLayers = 0, hidden = 0, numHeads = 0, numKvHeads = 0, headDim = 0, ffn = 0;
  std::int64_t vocabSize = 0;
  std::vector<std::int64_t> windows;  // [numLayers]; 0 = all positions. Empty = all layers see all
  double layerWeightBytes = 0;        // all layers together, as stored
  double outputWeightBytes = 0;       // the output matrix, as stored
  double embeddingRowBytes = 0;       // one token's row
  double kvBytesPerTokenLayer = 0;    // K and V with their scales
};

// One sequence's part of a step.
struct RowCost {
  std::int64_t tokens = 0;     // computed now
  std::int64_t kvLength = 0;   // with them
  std::int64_t logitRows = 0;  // how many of them want logits
};

struct StepCost {
  double flops = 0;
  double bytes = 0;
};

// Weights of the linear layers without embedding and output, as a count.
double layerParameters(const ModelShape& shape);

// Pairs (query, key) that `tokens` queries ending at `kvLength` look at through a window (0 = all).
double attendedPairs(std::int64_t tokens, std::int64_t kvLength, std::int64_t window);

// A step's cost in the two parts that hardware runs at different speeds.
struct StepParts {
  StepCost linear;     // matrix products with weights, the embedding's rows among them
  StepCost attention;  // queries against keys and values, which are read and written here
};

// Weights are read once a step for the whole batch (the output matrix only when somebody wants
// logits); keys and values once a sequence and layer, and never shared. Activations count nothing.
StepParts stepParts(const ModelShape& shape, std::span<const RowCost> rows);
StepCost stepCost(const ModelShape& shape, std::span<const RowCost> rows);  // both parts together

}  // namespace engine::accounting
