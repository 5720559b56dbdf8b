#include "kernels/core/dtype.h"

#include <array>

namespace kernels {

namespace {

constexpr std::array<DTypeInfo, kNumDTypes> kInfos = {{
    {"F32", 1, 4},
    {"F16", 1, 2},
    {"BF16", 1, 2},
    {"Q4_0", 32, 18},
    {"Q4_1", 32, 20},
    {"Q5_0", 32, 22},
    {"Q5_1", 32, 24},
    {"Q8_0", 32, 34},
    {"Q2_K", 256, 84},
    {"Q3_K", 256, 110},
    {"Q4_K", 256, 144},
    {"Q5_K", 256, 176},
    {"Q6_K", 256, 210},
    {"IQ4_NL", 32, 18},
    {"IQ4_XS", 256, 136},
}};

}  // namespace

const DTypeInfo& dtypeInfo(DType type) { return kInfos[static_cast<std::size_t>(type)]; }

std::size_t rowBytes(DType type, std::int64_t cols) {
  const DTypeInfo& info = dtypeInfo(type);
  return static_cast<std::size_t>(cols / info.elementsPerBlock) *
         static_cast<std::size_t>(info.bytesPerBlock);
}

}  // namespace kernels
