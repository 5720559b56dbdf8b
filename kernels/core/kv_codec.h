// How one head's key or value is held in the quantised cache types: exact to the bit, for every
// backend.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/core/dtype.h"
#include "kernels/core/float_bits.h"
#include "kernels/core/fp8_bits.h"

namespace kernels {

// `static`, not merely inline: files built for different instruction sets each keep their own copy.

// A vector of Fp8, Int8 or Int4 is its codes and then its parameters; x[i] is exactly
//   Fp8    the E4M3 number                                              no parameters
//   Int8   scale * code, code in [-127, 127]                            f16 scale
//   Int4   offset + scale * code, code in [0, 15], for every group      f16 scale [groups], then
//          of 64 or so elements                                         f16 offset [groups]
// Byte i of an Int4 group of G elements holds code i low and code i + G/2 high.
// A vector with a NaN or an infinity reads as NaN throughout (Int8, Int4; Fp8 see fp8_bits.h).
static inline bool isQuantizedKv(KvType type) {
  return type == KvType::Fp8E4M3 || type == KvType::Int8 || type == KvType::Int4;
}

// Integer types share one step between many elements: an outlier would cost all the others, so
// keys, queries and values are turned (hadamard.h) before.
static inline bool isTurnedKv(KvType type) {
  return type == KvType::Int8 || type == KvType::Int4;
}

// Groups of an Int4 vector: as many of at least 64 elements as divide it into even sizes, or 1.
static inline int int4Groups(int headDim) {
  int groups = headDim / 64;
  while (groups > 1 && headDim % (2 * groups) != 0) --groups;
  return groups > 1 ? groups : 1;
}

static inline std::size_t kvCodeBytes(KvType type, int headDim) {
  const auto size = static_cast<std::size_t>(headDim);
  switch (type) {
    case KvType::F32:
      return 4 * size;
    case KvType::F16:
    case KvType::BF16:
      return 2 * size;
    case KvType::Fp8E4M3:
    case KvType::Int8:
      return size;
    case KvType::Int4:
      break;
  }
  return (size + 1) / 2;
}

// f16 parameters of a vector.
static inline int kvParameters(KvType type, int headDim) {
  if (type == KvType::Int8) return 1;
  return type == KvType::Int4 ? 2 * int4Groups(headDim) : 0;
}

static inline std::size_t kvVectorBytes(KvType type, int headDim) {
  return kvCodeBytes(type, headDim) + 2 * static_cast<std::size_t>(kvParameters(type, headDim));
}

// Nearest whole number, ties to even, of |x| < 2^22.
static inline float nearestWhole(float x) {
  return (x + 12582912.0f) - 12582912.0f;
}

static inline float clampTo(float x, float low, float high) {
  x = x > low ? x : low;
  return x < high ? x : high;
}

// Nearest f16; too large becomes 65504.
static inline std::uint16_t finiteF16OfFloat(float x) {
  return f16OfFloat(clampTo(x, -65504.0f, 65504.0f));
}

inline constexpr std::uint16_t kNanF16 = 0x7E00;
inline constexpr int kCodecLanes = 16;

// Running values over i % 16, so that vectors and plain loops add in the same order.
struct CodecLanes {
  float at[kCodecLanes];

  // Halves fold until one is left.
  float sum() {
    for (int n = kCodecLanes / 2; n > 0; n /= 2) {
      for (int i = 0; i < n; ++i) at[i] += at[i + n];
    }
    return at[0];
  }

  float largest() {
    for (int n = kCodecLanes / 2; n > 0; n /= 2) {
      for (int i = 0; i < n; ++i) at[i] = at[i] > at[i + n] ? at[i] : at[i + n];
    }
    return at[0];
  }
};

static inline bool isFiniteVector(const float* x, int size) {
  bool isFinite = true;
  for (int i = 0; i < size; ++i) isFinite &= __builtin_fabsf(x[i]) <= 3.40282347e38f;
  return isFinite;
}

// Largest of x[i] * sign.
static inline float largestOf(const float* x, int size, float sign) {
  CodecLanes lanes;
  for (float& lane : lanes.at) lane = x[0] * sign;
  int i = 0;
  for (; i + kCodecLanes <= size; i += kCodecLanes) {
    for (int j = 0; j < kCodecLanes; ++j) {
      const float value = x[i + j] * sign;
      lanes.at[j] = value > lanes.at[j] ? value : lanes.at[j];
    }
  }
  for (; i < size; ++i) lanes.at[0] = x[i] * sign > lanes.at[0] ? x[i] * sign : lanes.at[0];
  return lanes.largest();
}

static inline void encodeFp8(const float* x, int size, std::byte* out) {
  for (int i = 0; i < size; ++i) out[i] = static_cast<std::byte>(fp8OfFloat(x[i]));
}

// The scale rounds up where it must, so that the largest element still has a code.
static inline std::uint16_t int8Scale(float largest) {
  const float wanted = largest / 127.0f;
  std::uint16_t bits = finiteF16OfFloat(wanted);
  if (floatOfF16(bits) < wanted && bits < 0x7BFF) ++bits;
  return bits;
}

static inline void encodeInt8(const float* x, int size, std::byte* out) {
  std::uint16_t scale = kNanF16;
  float inverse = 0.0f;
  if (isFiniteVector(x, size)) {
    const float high = largestOf(x, size, 1.0f), low = largestOf(x, size, -1.0f);
    scale = int8Scale(high > low ? high : low);
    if (scale != 0) inverse = 1.0f / floatOfF16(scale);
  }
  for (int i = 0; i < size; ++i) {
    const float code = nearestWhole(clampTo(x[i] * inverse, -127.0f, 127.0f));
    out[i] = static_cast<std::byte>(static_cast<std::int8_t>(static_cast<int>(code)));
  }
  __builtin_memcpy(out + size, &scale, 2);
}

// Scale and offset of an Int4 group, and what they cost.
struct Int4Fit {
  std::uint16_t scaleBits = 0, offsetBits = 0;
  float error = 0.0f;            // sum of squares
  float scale = 0, offset = 0;   // best for these codes, by least squares
};

static inline float int4Code(float x, float inverse, float offset) {
  return nearestWhole(clampTo((x - offset) * inverse, 0.0f, 15.0f));
}

static inline Int4Fit tryInt4(const float* x, int size, float sumOfX, float scale, float offset) {
  Int4Fit fit;
  fit.scaleBits = finiteF16OfFloat(scale);
  fit.offsetBits = finiteF16OfFloat(offset);
  const float s = floatOfF16(fit.scaleBits), o = floatOfF16(fit.offsetBits);
  const float inverse = s == 0.0f ? 0.0f : 1.0f / s;
  CodecLanes errors = {}, codes = {}, squares = {}, products = {};
  const auto add = [&](int i, int lane) {
    const float code = int4Code(x[i], inverse, o), error = o + s * code - x[i];
    errors.at[lane] += error * error;
    codes.at[lane] += code;
    squares.at[lane] += code * code;
    products.at[lane] += code * (x[i] - o);
  };
  int i = 0;
  for (; i + kCodecLanes <= size; i += kCodecLanes) {
    for (int lane = 0; lane < kCodecLanes; ++lane) add(i + lane, lane);
  }
  for (; i < size; ++i) add(i, 0);
  fit.error = errors.sum();
  const auto n = static_cast<float>(size);
  const float sum = codes.sum(), shifted = sumOfX - n * o;
  const float spread = squares.sum() - sum * sum / n;
  fit.scale = spread > 0.0f ? (products.sum() - sum * shifted / n) / spread : s;
  fit.offset = o + (shifted - fit.scale * sum) / n;
  return fit;
}

// From two ranges, the whole one and one that cuts its ends, three refinements each: the codes'
// error against N(0,1) over 64 elements comes to 0.0069, 0.0080 without.
static inline Int4Fit fitInt4(const float* x, int size) {
  const float high = largestOf(x, size, 1.0f), low = -largestOf(x, size, -1.0f);
  CodecLanes sums = {};
  for (int i = 0; i < size; ++i) sums.at[i % kCodecLanes] += x[i];
  const float sumOfX = sums.sum();
  Int4Fit best;
  bool isFirst = true;  // squares of huge values overflow: then the first fit stays
  constexpr float kParts[] = {1.0f, 0.92f};
  for (const float part : kParts) {
    Int4Fit fit;
    fit.scale = part * (high * (1.0f / 15.0f) - low * (1.0f / 15.0f));
    fit.offset = 0.5f * high + 0.5f * low - 7.5f * fit.scale;
    for (int turn = 0; turn < 4; ++turn) {
      fit = tryInt4(x, size, sumOfX, fit.scale, fit.offset);
      if (isFirst || fit.error < best.error) best = fit;
      isFirst = false;
    }
  }
  return best;
}

static inline void encodeInt4Group(
    const float* x, int size, std::byte* codes, std::uint16_t& scale, std::uint16_t& offset) {
  scale = kNanF16;
  offset = 0;
  float inverse = 0.0f;
  if (isFiniteVector(x, size)) {
    const Int4Fit fit = fitInt4(x, size);
    scale = fit.scaleBits;
    offset = fit.offsetBits;
    if (scale != 0) inverse = 1.0f / floatOfF16(scale);
  }
  const float o = floatOfF16(offset);
  const int half = (size + 1) / 2;
  for (int i = 0; i < half; ++i) {
    const float low = int4Code(x[i], inverse, o);
    const float high = i + half < size ? int4Code(x[i + half], inverse, o) : 0.0f;
    codes[i] = static_cast<std::byte>(static_cast<int>(low) | static_cast<int>(high) << 4);
  }
}

static inline void encodeInt4(const float* x, int headDim, std::byte* out) {
  const int groups = int4Groups(headDim), size = headDim / groups;
  std::byte* parameters = out + kvCodeBytes(KvType::Int4, headDim);
  for (int group = 0; group < groups; ++group, x += size) {
    std::uint16_t scale = 0, offset = 0;
    encodeInt4Group(x, size, out + group * ((size + 1) / 2), scale, offset);
    __builtin_memcpy(parameters + 2 * group, &scale, 2);
    __builtin_memcpy(parameters + 2 * (groups + group), &offset, 2);
  }
}

// out [kvVectorBytes]; type is Fp8E4M3, Int8 or Int4.
static inline void encodeKv(KvType type, const float* x, int headDim, std::byte* out) {
  if (type == KvType::Fp8E4M3) return encodeFp8(x, headDim, out);
  if (type == KvType::Int8) return encodeInt8(x, headDim, out);
  encodeInt4(x, headDim, out);
}

static inline void decodeInt4(const std::byte* from, int headDim, float* x) {
  const int groups = int4Groups(headDim), size = headDim / groups, half = (size + 1) / 2;
  const std::byte* parameters = from + kvCodeBytes(KvType::Int4, headDim);
  for (int group = 0; group < groups; ++group, x += size, from += half) {
    std::uint16_t scale = 0, offset = 0;
    __builtin_memcpy(&scale, parameters + 2 * group, 2);
    __builtin_memcpy(&offset, parameters + 2 * (groups + group), 2);
    for (int i = 0; i < size; ++i) {
      const int byte = static_cast<int>(from[i % half]);
      const int code = i < half ? byte & 15 : byte >> 4;
      x[i] = floatOfF16(offset) + floatOfF16(scale) * static_cast<float>(code);
    }
  }
}

// x [headDim]: what attention reads of an encoded vector.
static inline void decodeKv(KvType type, const std::byte* from, int headDim, float* x) {
  if (type == KvType::Int4) return decodeInt4(from, headDim, x);
  std::uint16_t scale = 0;
  if (type == KvType::Int8) __builtin_memcpy(&scale, from + headDim, 2);
  for (int i = 0; i < headDim; ++i) {
    const auto code = static_cast<std::uint8_t>(from[i]);
    x[i] = type == KvType::Int8 ? floatOfF16(scale) * static_cast<float>(static_cast<std::int8_t>(code))
                                : floatOfFp8(code);
  }
}

}  // namespace kernels
