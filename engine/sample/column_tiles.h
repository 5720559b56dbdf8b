// Arithmetic on one logits row in fixed column tiles, so that its bits depend on the row alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/base/ids.h"
#include "engine/base/result.h"

namespace engine::sample {

// Columns that are reduced together; tiles are merged in order.
inline constexpr std::size_t kColumnTile = 256;

// What is known of a raw row: its largest logit and the natural log of the sum of exponentials.
struct RowSummary {
  float max = 0.0f;
  TokenId argmax = -1;  // lowest id among equals
  double logSumExp = 0.0;

  // Raw log-softmax of one of the row's logits.
  float logprob(float logit) const { return static_cast<float>(double{logit} - logSumExp); }
};

// What is known of one of its tiles.
struct TileSummary {
  float max = 0.0f;
  float sum = 0.0f;  // of exp(logit - max)
  bool isFinite = false;
};

// in: [count], count <= kColumnTile.
TileSummary summarizeTile(const float* in, std::size_t count);

// row: [vocabSize] f32. Internal, naming the token, when a logit is NaN or infinite.
//   tiles: of all its tiles, where they are known; the same bits
Result<RowSummary> summarizeRow(std::span<const float> row,
                                std::span<const TileSummary> tiles = {});

// Lowest id among the largest; -1 when the row is empty or all of it is minus infinity.
TokenId argmaxOf(std::span<const float> row);

// out[i] = exp(in[i] - shift) for i < count, 0 from there to kColumnTile; returns the tile's sum.
//   in [count] f32, minus infinity allowed, nothing above shift + 88;  out [kColumnTile] f32
// Relative error below 2e-7; values below exp(-87) become 0.
float expTile(const float* in, std::size_t count, float shift, float* out);

// Largest of in[count], count <= kColumnTile.
float maxOfTile(const float* in, std::size_t count);

// out[i] = (in[i] - shift) / temperature for i < count <= kColumnTile.  out [kColumnTile] f32
void divideTile(const float* in, std::size_t count, float shift, float temperature, float* out);

// Where in[count] is at least `least`, which is finite, by index; returns how many.
//   count <= kColumnTile;  found [kColumnTile]
std::size_t findAtLeast(const float* in, std::size_t count, float least, std::uint8_t* found);

}  // namespace engine::sample
