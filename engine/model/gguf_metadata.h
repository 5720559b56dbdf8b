// The key-value part of a GGUF file, with typed reading by key.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/base/result.h"
#include "engine/model/gguf_cursor.h"
#include "engine/model/gguf_types.h"

namespace engine::model {

struct GgufEntry {
  std::string_view key;
  GgufType type = GgufType::UInt8;
  GgufValue value;
};

// Views into the file's bytes, which must outlive it. The typed readers give an empty optional when
// the key is absent, and CorruptFile naming the key when its value is of another kind.
class GgufMetadata {
 public:
  // Reads `count` entries. CorruptFile for anything the format forbids, duplicate keys included.
  static Result<GgufMetadata> read(GgufCursor& cursor, std::uint64_t count);

  const std::vector<GgufEntry>& entries() const { return m_entries; }  // in file order

  const GgufEntry* find(std::string_view key) const;  // null when absent

  // Any integer type whose value fits.
  Result<std::optional<std::int64_t>> integer(std::string_view key) const;
  Result<std::optional<double>> number(std::string_view key) const;  // float32 or float64
  Result<std::optional<bool>> boolean(std::string_view key) const;
  Result<std::optional<std::string>> text(std::string_view key) const;
  Result<std::optional<std::vector<std::string>>> texts(std::string_view key) const;
  Result<std::optional<std::vector<std::int64_t>>> integers(std::string_view key) const;
  Result<std::optional<std::vector<float>>> numbers(std::string_view key) const;

 private:
  explicit GgufMetadata(std::string_view path) : m_path(path) {}

  Result<void> add(const GgufEntry& entry);
  Error wrongType(const GgufEntry& entry, std::string_view wanted) const;
  template <typename T, typename Convert>
  Result<std::optional<std::vector<T>>> list(std::string_view key,
                                             std::string_view wanted,
                                             Convert convert) const;

  std::string m_path;
  std::vector<GgufEntry> m_entries;
  std::unordered_map<std::string_view, std::size_t> m_index;
};

}  // namespace engine::model
