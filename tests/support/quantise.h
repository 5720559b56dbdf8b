// Turns floats into GGUF weight bytes of any type, by plain rounding; for test models only.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/core/dtype.h"

namespace test_support {

// One row as the file holds it. cols: a multiple of the type's elementsPerBlock.
std::string quantiseRow(kernels::DType type, const float* values, std::int64_t cols);

}  // namespace test_support
