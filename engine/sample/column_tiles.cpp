#include "engine/sample/column_tiles.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include <fmt/format.h>

namespace engine::sample {

namespace {

// Four lanes whatever the processor (16 bytes exist on every x86-64 and need no choice at run
// time), so the order of additions is one.
constexpr std::size_t kLanes = 4;
using Floats = float __attribute__((vector_size(16)));
using Ints = std::int32_t __attribute__((vector_size(16)));

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
constexpr std::int32_t kExponentBits = 0x7F800000;

inline Floats broadcast(float x) {
  return Floats{x, x, x, x};
}

inline Ints broadcast(std::int32_t x) {
  return Ints{x, x, x, x};
}

inline Floats loadFloats(const float* in) {
  Floats x;
  std::memcpy(&x, in, sizeof x);
  return x;
}

// exp(x) for x in [-87, 88]; 0 below. Cody-Waite reduction, Taylor polynomial of degree 7.
inline Floats expLanes(Floats x) {
  const Floats floor = broadcast(-87.0f);
  const Ints isKept = x >= floor;
  const Floats clamped = isKept ? x : floor;
  const Floats magic = broadcast(12582912.0f);  // 1.5 * 2^23: adding it rounds to an integer
  const Floats shifted = clamped * 1.44269504f + magic;
  const Floats n = shifted - magic;
  const Floats r = clamped - n * 0.693359375f - n * -2.12194440e-4f;
  Floats p = broadcast(1.0f / 5040.0f);
  p = p * r + 1.0f / 720.0f;
  p = p * r + 1.0f / 120.0f;
  p = p * r + 1.0f / 24.0f;
  p = p * r + 1.0f / 6.0f;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  const Ints exponent = (Ints)shifted - (Ints)magic;
  const Floats power = (Floats)((exponent + 127) << 23);
  return (Floats)((Ints)(p * power) & isKept);
}

inline float sumLanes(Floats x) {
  return (x[0] + x[2]) + (x[1] + x[3]);
}

// A whole tile with minus infinity past the end of the row.
struct PaddedTile {
  alignas(32) float values[kColumnTile];

  PaddedTile(const float* in, std::size_t count) {
    std::copy(in, in + count, values);
    std::fill(values + count, values + kColumnTile, kMinusInfinity);
  }
};

bool isTileFinite(const float* in, std::size_t count) {
  Ints bad = broadcast(0);
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Ints bits = (Ints)loadFloats(in + i) & broadcast(kExponentBits);
    bad |= bits == broadcast(kExponentBits);
  }
  for (; i < count; ++i) bad[0] |= std::isfinite(in[i]) ? 0 : -1;
  std::int32_t any = 0;
  for (std::size_t lane = 0; lane < kLanes; ++lane) any |= bad[lane];
  return any == 0;
}

Error badLogit(std::span<const float> row) {
  const auto bad = std::ranges::find_if(row, [](float x) { return !std::isfinite(x); });
  return Error{ErrorCode::Internal,
               fmt::format("the model gave token {} a logit of {}, which is not a finite number",
                           bad - row.begin(), *bad)};
}

}  // namespace

float maxOfTile(const float* in, std::size_t count) {
  Floats best = broadcast(kMinusInfinity);
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Floats x = loadFloats(in + i);
    best = x > best ? x : best;
  }
  float result = kMinusInfinity;
  for (std::size_t lane = 0; lane < kLanes; ++lane) result = std::max(result, best[lane]);
  for (; i < count; ++i) result = std::max(result, in[i]);
  return result;
}

float expTile(const float* in, std::size_t count, float shift, float* out) {
  if (count < kColumnTile) {
    const PaddedTile padded(in, count);
    return expTile(padded.values, kColumnTile, shift, out);
  }
  Floats even = broadcast(0.0f), odd = broadcast(0.0f);  // two chains hide the latency of one
  for (std::size_t i = 0; i < kColumnTile; i += 2 * kLanes) {
    const Floats a = expLanes(loadFloats(in + i) - shift);
    const Floats b = expLanes(loadFloats(in + i + kLanes) - shift);
    std::memcpy(out + i, &a, sizeof a);
    std::memcpy(out + i + kLanes, &b, sizeof b);
    even += a;
    odd += b;
  }
  return sumLanes(even + odd);
}

Result<RowSummary> summarizeRow(std::span<const float> row) {
  RowSummary summary;
  summary.max = kMinusInfinity;
  double sum = 0.0;  // of exp(x - summary.max)
  alignas(32) float weights[kColumnTile];
  for (std::size_t begin = 0; begin < row.size(); begin += kColumnTile) {
    const std::size_t count = std::min(kColumnTile, row.size() - begin);
    const float* tile = row.data() + begin;
    if (!isTileFinite(tile, count)) return badLogit(row);
    const float tileMax = maxOfTile(tile, count);
    const double tileSum = expTile(tile, count, tileMax, weights);
    if (tileMax > summary.max) {
      sum = sum * std::exp(double{summary.max} - double{tileMax}) + tileSum;
      summary.max = tileMax;
      summary.argmax = static_cast<TokenId>(
          begin + static_cast<std::size_t>(std::find(tile, tile + count, tileMax) - tile));
    } else {
      sum += tileSum * std::exp(double{tileMax} - double{summary.max});
    }
  }
  summary.logSumExp = double{summary.max} + std::log(sum);
  return summary;
}

TokenId argmaxOf(std::span<const float> row) {
  float best = kMinusInfinity;
  std::size_t bestTile = 0;
  for (std::size_t begin = 0; begin < row.size(); begin += kColumnTile) {
    const float tileMax = maxOfTile(row.data() + begin, std::min(kColumnTile, row.size() - begin));
    if (tileMax > best) {
      best = tileMax;
      bestTile = begin;
    }
  }
  if (best == kMinusInfinity) return -1;
  const auto first = row.begin() + static_cast<std::ptrdiff_t>(bestTile);
  return static_cast<TokenId>(std::find(first, row.end(), best) - row.begin());
}

}  // namespace engine::sample
