#include "kernels/core/unpack.h"

#include <cstring>

#include "kernels/core/float_bits.h"
#include "kernels/core/quant_group.h"

namespace kernels {

namespace {

std::uint16_t load16(const std::byte* p) {
  std::uint16_t bits;
  std::memcpy(&bits, p, sizeof bits);
  return bits;
}

void unpackGroup(const QuantGroup& group, float* out) {
  for (int h = 0; h < 2; ++h) {
    const float scale = group.scale * static_cast<float>(group.subScale[h]);
    const float min = group.minScale * static_cast<float>(group.subMin[h]);
    for (int i = 16 * h; i < 16 * h + 16; ++i) {
      const float value = scale * static_cast<float>(group.codes[i] - group.zero);
      // no subtraction where there is no minimum: it would turn -0 into +0
      out[i] = group.hasMin ? value - min : value;
    }
  }
}

void unpackBlocks(DType type, const std::byte* row, std::int64_t cols, float* out) {
  const DTypeInfo& info = dtypeInfo(type);
  QuantGroup group;
  for (std::int64_t first = 0; first < cols; first += info.elementsPerBlock) {
    for (int g = 0; g < info.elementsPerBlock / kGroupSize; ++g) {
      decodeGroup(type, row, g, group);
      unpackGroup(group, out + first + g * kGroupSize);
    }
    row += info.bytesPerBlock;
  }
}

}  // namespace

void unpackRow(DType type, const std::byte* row, std::int64_t cols, float* out) {
  switch (type) {
    case DType::F32:
      std::memcpy(out, row, static_cast<std::size_t>(cols) * sizeof(float));
      return;
    case DType::F16:
      for (std::int64_t i = 0; i < cols; ++i) out[i] = floatOfF16(load16(row + 2 * i));
      return;
    case DType::BF16:
      for (std::int64_t i = 0; i < cols; ++i) out[i] = floatOfBf16(load16(row + 2 * i));
      return;
    default:
      unpackBlocks(type, row, cols, out);
  }
}

}  // namespace kernels
