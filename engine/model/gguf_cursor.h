// Reads the little-endian parts of a GGUF file front to back, never past its end.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "engine/base/result.h"
#include "engine/model/gguf_types.h"

namespace engine::model {

static_assert(std::endian::native == std::endian::little, "values are read as the machine's own");

// `path` is named in errors and must outlive the cursor, as must the bytes. Nothing read here
// allocates: strings and arrays are views. All errors are CorruptFile.
class GgufCursor {
 public:
  GgufCursor(std::span<const std::byte> bytes, std::string_view path)
      : m_bytes(bytes), m_path(path) {}

  std::uint64_t position() const { return m_position; }

  std::uint64_t left() const { return m_bytes.size() - m_position; }

  std::string_view path() const { return m_path; }

  // `what` names the value in the error: "the version".
  template <typename T>
  Result<T> read(std::string_view what) {
    if (left() < sizeof(T)) return truncated(what);
    T value;
    std::memcpy(&value, m_bytes.data() + m_position, sizeof(T));
    m_position += sizeof(T);
    return value;
  }

  Result<std::string_view> readString(std::string_view what);
  // A value of `type`, as of key `what`.
  Result<GgufValue> readValue(GgufType type, std::string_view what);
  // A type number that the format defines.
  Result<GgufType> readType(std::string_view what);

  Error corrupt(std::string_view what) const;

 private:
  Result<GgufValue> readArray(std::string_view what);
  Result<void> skipElements(GgufType type, std::uint64_t count, std::string_view what);
  Result<void> skipArrays(std::uint64_t count, std::string_view what);
  Result<void> skipStrings(std::uint64_t count, std::string_view what);
  Result<void> skipBools(std::uint64_t count, std::string_view what);
  Error truncated(std::string_view what) const;

  std::span<const std::byte> m_bytes;
  std::string_view m_path;
  std::uint64_t m_position = 0;
  int m_depth = 0;  // arrays around the current element
};

// Goes through the elements of a checked array.
class GgufArrayReader {
 public:
  explicit GgufArrayReader(const GgufArray& array)
      : m_cursor(array.bytes, ""), m_type(array.elementType), m_left(array.count) {}

  // False when there are no more.
  bool next(GgufValue& out);

 private:
  GgufCursor m_cursor;
  GgufType m_type;
  std::uint64_t m_left;
};

}  // namespace engine::model
