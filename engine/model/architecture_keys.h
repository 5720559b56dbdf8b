// Reads the keys of one architecture ("llama.block_count"), each within its limits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/base/result.h"
#include "engine/model/gguf_file.h"

namespace engine::model {

// Both ends belong to the range.
struct IntegerRange {
  std::int64_t lowest, highest;
};

// Keys are given without the architecture. A value out of its range is CorruptFile naming key,
// value and range; an array in place of an integer is taken when all its elements are equal, else
// Unsupported.
class ArchitectureKeys {
 public:
  // `file` must outlive it.
  ArchitectureKeys(const GgufFile& file, std::string architecture)
      : m_file(file), m_architecture(std::move(architecture)) {}

  const std::string& architecture() const { return m_architecture; }

  bool has(std::string_view key) const;
  Result<std::int64_t> integer(std::string_view key, IntegerRange range) const;
  Result<std::int64_t> integerOr(std::string_view key,
                                 IntegerRange range,
                                 std::int64_t absent) const;
  // Finite, above 0, at most 1e12.
  Result<double> positiveOr(std::string_view key, double absent) const;
  // Finite, at most 1e12 in size.
  Result<double> numberOr(std::string_view key, double absent) const;
  Result<std::string> textOr(std::string_view key, std::string_view absent) const;
  Result<bool> booleanOr(std::string_view key, bool absent) const;

  std::string fullKey(std::string_view key) const {
    return m_architecture + "." + std::string(key);
  }

  Error corrupt(std::string_view what) const;
  Error unsupported(std::string_view what) const;

 private:
  Result<std::optional<std::int64_t>> find(std::string_view key, IntegerRange range) const;
  // The one value of an array under a full key.
  Result<std::optional<std::int64_t>> uniformElement(std::string_view full) const;

  const GgufFile& m_file;
  std::string m_architecture;
};

}  // namespace engine::model
