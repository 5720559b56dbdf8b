#include "engine/sample/column_tiles.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include <fmt/format.h>

namespace engine::sample {

namespace {

// Sixteen lanes whatever the processor, so the order of additions is one and so are the bits; it
// differs only how many instructions they take. The functions below are built for three kinds of
// processor and one of them is chosen at run time.
constexpr std::size_t kLanes = 16;
using Floats = float __attribute__((vector_size(64)));
using Ints = std::int32_t __attribute__((vector_size(64)));
static_assert(kColumnTile % kLanes == 0);

#define ALWAYS_INLINE [[gnu::always_inline]] inline
#pragma GCC diagnostic ignored "-Wpsabi"  // everything that takes a vector is inlined

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
constexpr std::int32_t kExponentBits = 0x7F800000;

ALWAYS_INLINE Floats broadcast(float x) {
  return Floats{} + x;
}

ALWAYS_INLINE Ints broadcast(std::int32_t x) {
  return Ints{} + x;
}

ALWAYS_INLINE Floats loadFloats(const float* in) {
  Floats x;
  std::memcpy(&x, in, sizeof x);
  return x;
}

// exp(x) for x in [-87, 88]; 0 below. Cody-Waite reduction, Taylor polynomial of degree 7.
ALWAYS_INLINE Floats expLanes(Floats x) {
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

// Halves onto each other until one lane is left.
ALWAYS_INLINE float sumLanes(Floats x) {
  float lanes[kLanes];
  std::memcpy(lanes, &x, sizeof lanes);
  for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  return lanes[0];
}

ALWAYS_INLINE float expOfWhole(const float* in, float shift, float* out) {
  Floats sum = broadcast(0.0f);
  for (std::size_t i = 0; i < kColumnTile; i += kLanes) {
    const Floats weights = expLanes(loadFloats(in + i) - shift);
    std::memcpy(out + i, &weights, sizeof weights);
    sum += weights;
  }
  return sumLanes(sum);
}

ALWAYS_INLINE float maxOfWhole(const float* in) {
  Floats best = broadcast(kMinusInfinity);
  for (std::size_t i = 0; i < kColumnTile; i += kLanes) {
    const Floats x = loadFloats(in + i);
    best = x > best ? x : best;
  }
  float result = kMinusInfinity;
  for (std::size_t lane = 0; lane < kLanes; ++lane) result = std::max(result, best[lane]);
  return result;
}

ALWAYS_INLINE bool isWholeFinite(const float* in) {
  Ints bad = broadcast(0);
  for (std::size_t i = 0; i < kColumnTile; i += kLanes) {
    const Ints bits = (Ints)loadFloats(in + i) & broadcast(kExponentBits);
    bad |= bits == broadcast(kExponentBits);
  }
  std::int32_t any = 0;
  for (std::size_t lane = 0; lane < kLanes; ++lane) any |= bad[lane];
  return any == 0;
}

ALWAYS_INLINE void divideWhole(const float* in, float shift, float temperature, float* out) {
  for (std::size_t i = 0; i < kColumnTile; i += kLanes) {
    const Floats quotients = (loadFloats(in + i) - shift) / temperature;
    std::memcpy(out + i, &quotients, sizeof quotients);
  }
}

ALWAYS_INLINE bool isAny(Ints lanes) {
  std::uint64_t words[sizeof lanes / sizeof(std::uint64_t)], any = 0;
  std::memcpy(words, &lanes, sizeof lanes);
  for (const std::uint64_t word : words) any |= word;
  return any != 0;
}

ALWAYS_INLINE std::size_t findInWhole(const float* in, float least, std::uint8_t* found) {
  std::size_t numFound = 0;
  for (std::size_t i = 0; i < kColumnTile; i += kLanes) {
    if (!isAny(loadFloats(in + i) >= least)) continue;
    for (std::size_t lane = i; lane < i + kLanes; ++lane) {
      found[numFound] = static_cast<std::uint8_t>(lane);
      numFound += in[lane] >= least;
    }
  }
  return numFound;
}

// Of whole tiles.
struct TileFunctions {
  float (*exp)(const float* in, float shift, float* out);
  float (*max)(const float* in);
  bool (*isFinite)(const float* in);
  void (*divide)(const float* in, float shift, float temperature, float* out);
  std::size_t (*find)(const float* in, float least, std::uint8_t* found);
};

float expPlain(const float* in, float shift, float* out) {
  return expOfWhole(in, shift, out);
}

float maxPlain(const float* in) {
  return maxOfWhole(in);
}

bool isFinitePlain(const float* in) {
  return isWholeFinite(in);
}

void dividePlain(const float* in, float shift, float temperature, float* out) {
  divideWhole(in, shift, temperature, out);
}

std::size_t findPlain(const float* in, float least, std::uint8_t* found) {
  return findInWhole(in, least, found);
}

[[gnu::target("avx2")]] float expAvx2(const float* in, float shift, float* out) {
  return expOfWhole(in, shift, out);
}

[[gnu::target("avx2")]] float maxAvx2(const float* in) {
  return maxOfWhole(in);
}

[[gnu::target("avx2")]] bool isFiniteAvx2(const float* in) {
  return isWholeFinite(in);
}

[[gnu::target("avx2")]] void divideAvx2(const float* in,
                                        float shift,
                                        float temperature,
                                        float* out) {
  divideWhole(in, shift, temperature, out);
}

[[gnu::target("avx2")]] std::size_t findAvx2(const float* in, float least, std::uint8_t* found) {
  return findInWhole(in, least, found);
}

[[gnu::target("avx512f")]] float expAvx512(const float* in, float shift, float* out) {
  return expOfWhole(in, shift, out);
}

[[gnu::target("avx512f")]] float maxAvx512(const float* in) {
  return maxOfWhole(in);
}

[[gnu::target("avx512f")]] bool isFiniteAvx512(const float* in) {
  return isWholeFinite(in);
}

[[gnu::target("avx512f")]] void divideAvx512(const float* in,
                                             float shift,
                                             float temperature,
                                             float* out) {
  divideWhole(in, shift, temperature, out);
}

[[gnu::target("avx512f")]] std::size_t findAvx512(const float* in,
                                                  float least,
                                                  std::uint8_t* found) {
  return findInWhole(in, least, found);
}

constexpr TileFunctions kPlain = {expPlain, maxPlain, isFinitePlain, dividePlain, findPlain};
constexpr TileFunctions kAvx2 = {expAvx2, maxAvx2, isFiniteAvx2, divideAvx2, findAvx2};
constexpr TileFunctions kAvx512 = {expAvx512, maxAvx512, isFiniteAvx512, divideAvx512, findAvx512};

const TileFunctions& functions() {
  static const TileFunctions& chosen = __builtin_cpu_supports("avx512f") ? kAvx512
                                       : __builtin_cpu_supports("avx2")  ? kAvx2
                                                                         : kPlain;
  return chosen;
}

// A whole tile with `filler` past the end of the row.
struct PaddedTile {
  alignas(64) float values[kColumnTile];

  PaddedTile(const float* in, std::size_t count, float filler) {
    std::copy(in, in + count, values);
    std::fill(values + count, values + kColumnTile, filler);
  }
};

bool isTileFinite(const float* in, std::size_t count) {
  if (count == kColumnTile) return functions().isFinite(in);
  return functions().isFinite(PaddedTile(in, count, 0.0f).values);
}

Error badLogit(std::span<const float> row) {
  const auto bad = std::ranges::find_if(row, [](float x) { return !std::isfinite(x); });
  return Error{ErrorCode::Internal,
               fmt::format("the model gave token {} a logit of {}, which is not a finite number",
                           bad - row.begin(), *bad)};
}

}  // namespace

float maxOfTile(const float* in, std::size_t count) {
  if (count == kColumnTile) return functions().max(in);
  return functions().max(PaddedTile(in, count, kMinusInfinity).values);
}

float expTile(const float* in, std::size_t count, float shift, float* out) {
  if (count == kColumnTile) return functions().exp(in, shift, out);
  return functions().exp(PaddedTile(in, count, kMinusInfinity).values, shift, out);
}

void divideTile(const float* in, std::size_t count, float shift, float temperature, float* out) {
  if (count == kColumnTile) return functions().divide(in, shift, temperature, out);
  functions().divide(PaddedTile(in, count, 0.0f).values, shift, temperature, out);
}

std::size_t findAtLeast(const float* in, std::size_t count, float least, std::uint8_t* found) {
  if (count == kColumnTile) return functions().find(in, least, found);
  return functions().find(PaddedTile(in, count, kMinusInfinity).values, least, found);
}

TileSummary summarizeTile(const float* in, std::size_t count) {
  TileSummary tile;
  tile.isFinite = isTileFinite(in, count);
  if (!tile.isFinite) return tile;
  alignas(64) float weights[kColumnTile];
  tile.max = maxOfTile(in, count);
  tile.sum = expTile(in, count, tile.max, weights);
  return tile;
}

Result<RowSummary> summarizeRow(std::span<const float> row, std::span<const TileSummary> tiles) {
  RowSummary summary;
  summary.max = kMinusInfinity;
  double sum = 0.0;           // of exp(x - summary.max)
  std::size_t bestBegin = 0;  // of the tile with the largest
  for (std::size_t begin = 0; begin < row.size(); begin += kColumnTile) {
    const std::size_t count = std::min(kColumnTile, row.size() - begin);
    const TileSummary tile =
        tiles.empty() ? summarizeTile(row.data() + begin, count) : tiles[begin / kColumnTile];
    if (!tile.isFinite) return badLogit(row);
    if (tile.max > summary.max) {
      sum = sum * std::exp(double{summary.max} - double{tile.max}) + double{tile.sum};
      summary.max = tile.max;
      bestBegin = begin;
    } else {
      sum += double{tile.sum} * std::exp(double{tile.max} - double{summary.max});
    }
  }
  const auto first = row.begin() + static_cast<std::ptrdiff_t>(bestBegin);
  summary.argmax = static_cast<TokenId>(std::find(first, row.end(), summary.max) - row.begin());
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
