// The value and tensor types that the GGUF format defines, ours to run or not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "kernels/core/dtype.h"

namespace engine::model {

// Types of metadata values, numbered as in the file.
enum class GgufType : std::uint32_t {
  UInt8,
  Int8,
  UInt16,
  Int16,
  UInt32,
  Int32,
  Float32,
  Bool,
  String,
  Array,
  UInt64,
  Int64,
  Float64
};
inline constexpr std::uint32_t kNumGgufTypes = 13;

const char* ggufTypeName(GgufType type);  // "uint32", "string", ...

// Smallest number of bytes that one value can take in a file: exact for all but String and Array.
std::size_t minimumBytes(GgufType type);

// Elements as they lie in the file, checked when the file was opened; read with GgufArrayReader.
struct GgufArray {
  GgufType elementType = GgufType::UInt8;
  std::uint64_t count = 0;
  std::span<const std::byte> bytes;
};

// Unsigned integers, signed integers, floats, bool, string, array. Strings may be any bytes.
using GgufValue =
    std::variant<std::uint64_t, std::int64_t, double, bool, std::string_view, GgufArray>;

// A tensor type of the format. `dtype` is empty for those that the kernels do not run.
struct GgufTensorType {
  std::uint32_t id = 0;
  const char* name = "";
  int elementsPerBlock = 1;
  int bytesPerBlock = 0;
  std::optional<kernels::DType> dtype;
};

// Null when the format does not define (or has removed) type `id`. Lives for ever.
const GgufTensorType* findTensorType(std::uint32_t id);
// The file's type for a kernel type.
const GgufTensorType& tensorTypeOf(kernels::DType dtype);

}  // namespace engine::model
