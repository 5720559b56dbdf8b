// Element and block formats that weights and KV come in.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kernels {

// Weight formats of GGUF (block quantised along a row) and plain floats.
enum class DType : std::uint8_t {
  F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_NL, IQ4_XS,
};
inline constexpr int kNumDTypes = 15;

struct DTypeInfo {
  const char* name;      // as GGUF writes it: "Q4_K"
  int elementsPerBlock;  // 1, 32 or 256
  int bytesPerBlock;
};

const DTypeInfo& dtypeInfo(DType type);

// Bytes of a row of `cols` elements; cols must be a multiple of elementsPerBlock.
std::size_t rowBytes(DType type, std::int64_t cols);

enum class KvType : std::uint8_t { F32, F16, BF16, Fp8E4M3, Int8, Int4 };

}  // namespace kernels
