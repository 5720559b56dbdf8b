// Random weight matrices in every file format, and plain oracles for quantisation and products.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <stdexcept>
#include <vector>

#include "kernels/core/float_bits.h"
#include "kernels/core/quant_group.h"
#include "kernels/core/unpack.h"
#include "kernels/core/weight_view.h"
#include "kernels/cpu/huge_arena.h"
#include "kernels/cpu/matmul.h"
#include "kernels/cpu/thread_pool.h"

namespace fixture {

using kernels::DType;
using kernels::WeightView;
using kernels::cpu::QuantizedGroup;

struct Weights {
  std::vector<std::byte> bytes;
  WeightView view;

  std::vector<float> row(std::int64_t r) const {
    std::vector<float> out(static_cast<std::size_t>(view.cols));
    const std::size_t stride = kernels::rowBytes(view.type, view.cols);
    kernels::unpackRow(view.type, view.data + static_cast<std::size_t>(r) * stride, view.cols,
                       out.data());
    return out;
  }
};

// To the nearest of so many significant bits.
//   tie  what a tie does: to the even one, or away from zero
enum class Tie { Even, Away };

inline double roundedTo(int bits, double x, Tie tie) {
  if (x == 0.0) return x;
  const double unit = std::ldexp(1.0, std::ilogb(x) - bits + 1);
  return (tie == Tie::Even ? std::nearbyint(x / unit) : std::round(x / unit)) * unit;
}

inline double asHalf(double x) {
  return roundedTo(11, x, Tie::Even);
}

// What tile registers are given for a weight, by the recipe of pair_codes.h.
inline double roundedWeight(DType type, const kernels::QuantGroup& group, int i) {
  const int half = i / 16;
  const float scale = group.scale * static_cast<float>(group.subScale[half]);
  const double number = group.codes[i] - group.zero;
  double weight = 0;
  if (type == DType::Q8_0 || type == DType::IQ4_NL || type == DType::IQ4_XS) {
    weight = asHalf(number * asHalf(static_cast<double>(scale)));
  } else {
    // Q3_K's and Q6_K's zero points are half their levels, as Q4_0's and Q5_0's are
    const bool isTwo = type == DType::Q2_K, isThree = type == DType::Q3_K,
               isSix = type == DType::Q6_K;
    const bool isFive = type == DType::Q5_0 || type == DType::Q5_1 || type == DType::Q5_K;
    const float levels = isTwo ? 4 : isThree ? 8 : isFive ? 32 : isSix ? 64 : 16;
    const float step = scale * levels;
    const float min = -(group.minScale * static_cast<float>(group.subMin[half]));
    const double start = static_cast<double>(group.hasMin ? min - step : -1.5f * step);
    const double code = group.hasMin ? number : number + static_cast<double>(levels) / 2;
    weight = asHalf((1.0 + code / static_cast<double>(levels)) * asHalf(static_cast<double>(step)) +
                    asHalf(start));
  }
  return roundedTo(8, weight, Tie::Away);
}

// Row `r` of a quantised matrix so rounded.
inline std::vector<double> roundedRow(const Weights& weights, std::int64_t r) {
  const kernels::DTypeInfo& info = kernels::dtypeInfo(weights.view.type);
  const std::size_t stride = kernels::rowBytes(weights.view.type, weights.view.cols);
  const std::byte* block = weights.view.data + static_cast<std::size_t>(r) * stride;
  std::vector<double> out;
  for (std::int64_t k = 0; k < weights.view.cols; k += info.elementsPerBlock) {
    for (int g = 0; g < info.elementsPerBlock / 32; ++g) {
      kernels::QuantGroup group;
      kernels::decodeGroup(weights.view.type, block, g, group);
      for (int i = 0; i < 32; ++i) {
        out.push_back(roundedWeight(weights.view.type, group, i));
      }
    }
    block += info.bytesPerBlock;
  }
  return out;
}

// Where the f16 scales of a block are; every other byte of a block may hold anything.
inline std::vector<std::size_t> scaleOffsets(DType type) {
  switch (type) {
    case DType::Q4_0:
    case DType::Q5_0:
    case DType::Q8_0:
    case DType::IQ4_NL:
    case DType::IQ4_XS:
      return {0};
    case DType::Q4_1:
    case DType::Q5_1:
    case DType::Q4_K:
    case DType::Q5_K:
      return {0, 2};
    case DType::Q2_K:
      return {80, 82};
    case DType::Q3_K:
      return {108};
    case DType::Q6_K:
      return {208};
    default:
      return {};
  }
}

inline Weights randomWeights(DType type, std::int64_t rows, std::int64_t cols, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, 0.02f);
  Weights out;
  out.bytes.resize(static_cast<std::size_t>(rows) * kernels::rowBytes(type, cols));
  const auto put = [&](std::size_t at, const void* value, std::size_t size) {
    std::memcpy(out.bytes.data() + at, value, size);
  };
  const auto blockBytes = static_cast<std::size_t>(kernels::dtypeInfo(type).bytesPerBlock);
  for (std::byte& byte : out.bytes) byte = static_cast<std::byte>(random() & 255u);
  for (std::size_t at = 0; at < out.bytes.size(); at += blockBytes) {
    const float value = normal(random);
    const std::uint16_t half = kernels::f16OfFloat(value), brain = kernels::bf16OfFloat(value);
    if (type == DType::F32) put(at, &value, 4);
    if (type == DType::F16) put(at, &half, 2);
    if (type == DType::BF16) put(at, &brain, 2);
    for (std::size_t offset : scaleOffsets(type)) {
      const std::uint16_t scale = kernels::f16OfFloat(normal(random));
      put(at + offset, &scale, 2);
    }
  }
  out.view = {type, rows, cols, out.bytes.data()};
  return out;
}

// A matrix in one of the orders that kernels want, with the memory it lies in.
struct PackedOnce {
  kernels::cpu::HugeArena arena;
  kernels::cpu::PackedMatrix matrix;

  PackedOnce(const std::vector<WeightView>& sources, kernels::cpu::CodeOrder order)
      : matrix(sources, order) {
    kernels::cpu::ThreadPool pool(2);
    arena.reserve(matrix.packedBytes());
    if (!matrix.pack(arena.allocate(matrix.packedBytes()), pool).isOk()) {
      throw std::runtime_error("cannot pack");
    }
  }
};

inline std::vector<float> randomActivations(int rows, int cols, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, 1.0f);
  std::vector<float> out(static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols));
  for (float& value : out) value = normal(random);
  return out;
}

// The definition in quantized_group.h, one value after the other.
inline QuantizedGroup quantizePlainly(const float* in) {
  QuantizedGroup out{};
  float amax = 0.0f;
  bool isUsable = true;
  for (int i = 0; i < 32; ++i) {
    isUsable = isUsable && std::fabs(in[i]) <= 0x1p100f;
    amax = std::max(amax, std::fabs(in[i]));
  }
  float scale = 0.0f;
  if (isUsable && amax >= 0x1p-100f) {
    scale = std::bit_cast<float>((std::bit_cast<std::uint32_t>(amax / 127.0f) + 3u) & ~3u);
  }
  int sums[2] = {0, 0};
  for (int i = 0; i < 32 && scale > 0.0f; ++i) {
    const float value = std::nearbyintf(in[i] * (1.0f / scale));
    out.values[i] = static_cast<std::int8_t>(value);
    sums[i / 16] += out.values[i];
  }
  if (!isUsable) scale = std::numeric_limits<float>::quiet_NaN();
  const int sum = sums[0] + sums[1];
  constexpr std::int32_t kBias = kernels::cpu::kSumBias;
  out.scale = scale;
  out.shift = -12582912.0f * scale;
  out.scaledSum = scale * static_cast<float>(sum);
  out.start8 = kBias - 8 * sum;
  out.start16 = kBias - 16 * sum;
  out.start128 = kBias - 128 * sum;
  out.start32[0] = kBias - 32 * sums[0];
  out.start32[1] = kBias - 32 * sums[1];
  return out;
}

}  // namespace fixture
