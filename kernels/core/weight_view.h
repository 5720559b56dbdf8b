// A borrowed weight matrix in its file format; owns nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/core/dtype.h"

namespace kernels {

// Row-major: rows = output features (N), cols = input features (K). y[r] = sum_c w[r,c] * x[c].
struct WeightView {
  DType type = DType::F32;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  const std::byte* data = nullptr;  // rows * rowBytes(type, cols) bytes; null = absent

  bool isPresent() const { return data != nullptr; }
  std::size_t bytes() const { return static_cast<std::size_t>(rows) * rowBytes(type, cols); }
};

}  // namespace kernels
