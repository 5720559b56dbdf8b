// Plain dequantisation of every weight format, bit-exact to the formats' definition.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/core/dtype.h"

namespace kernels {

// out[cols] f32 = one row as the file holds it. cols: a multiple of the type's elementsPerBlock.
void unpackRow(DType type, const std::byte* row, std::int64_t cols, float* out);

}  // namespace kernels
