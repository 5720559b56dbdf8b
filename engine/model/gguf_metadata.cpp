#include "engine/model/gguf_metadata.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "engine/model/safe_text.h"

namespace engine::model {

namespace {

constexpr std::size_t kMaxKeyBytes = 65535;  // the format's limit
constexpr std::uint64_t kMinEntryBytes = 8 + 4 + 1;

bool isPrintableAscii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7F; });
}

std::optional<std::int64_t> asInteger(const GgufValue& value) {
  if (const auto* plain = std::get_if<std::int64_t>(&value)) return *plain;
  const auto* natural = std::get_if<std::uint64_t>(&value);
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (natural == nullptr || *natural > kMax) return std::nullopt;
  return static_cast<std::int64_t>(*natural);
}

Result<std::string_view> readKey(GgufCursor& cursor, std::uint64_t index) {
  const std::string_view key = TRY(cursor.readString(fmt::format("the key of entry {}", index)));
  if (key.size() > kMaxKeyBytes) {
    return cursor.corrupt(fmt::format("the key of entry {} has {} bytes, the limit is {}", index,
                                      key.size(), kMaxKeyBytes));
  }
  if (key.empty() || !isPrintableAscii(key)) {
    return cursor.corrupt(
        fmt::format("the key of entry {} is not a name: \"{}\"", index, safeText(key)));
  }
  return key;
}

}  // namespace

Result<GgufMetadata> GgufMetadata::read(GgufCursor& cursor, std::uint64_t count) {
  if (count > cursor.left() / kMinEntryBytes) {
    return cursor.corrupt(fmt::format(
        "announces {} metadata entries, {} bytes are left in the file", count, cursor.left()));
  }
  GgufMetadata metadata(cursor.path());
  for (std::uint64_t i = 0; i < count; ++i) {
    GgufEntry entry;
    entry.key = TRY(readKey(cursor, i));
    entry.type = TRY(cursor.readType(entry.key));
    entry.value = TRY(cursor.readValue(entry.type, entry.key));
    TRY_VOID(metadata.add(entry));
  }
  return metadata;
}

Result<void> GgufMetadata::add(const GgufEntry& entry) {
  if (!m_index.emplace(entry.key, m_entries.size()).second) {
    return fileError(ErrorCode::CorruptFile, m_path,
                     fmt::format("has the key {} twice", safeText(entry.key)));
  }
  m_entries.push_back(entry);
  return {};
}

const GgufEntry* GgufMetadata::find(std::string_view key) const {
  const auto found = m_index.find(key);
  return found == m_index.end() ? nullptr : &m_entries[found->second];
}

Error GgufMetadata::wrongType(const GgufEntry& entry, std::string_view wanted) const {
  return fileError(ErrorCode::CorruptFile, m_path,
                   fmt::format("{} is of type {}, expected {}", safeText(entry.key),
                               ggufTypeName(entry.type), wanted));
}

Result<std::optional<std::int64_t>> GgufMetadata::integer(std::string_view key) const {
  const GgufEntry* entry = find(key);
  if (entry == nullptr) return std::optional<std::int64_t>();
  const auto value = asInteger(entry->value);
  if (!value) return wrongType(*entry, "an integer below 2^63");
  return value;
}

Result<std::optional<double>> GgufMetadata::number(std::string_view key) const {
  const GgufEntry* entry = find(key);
  if (entry == nullptr) return std::optional<double>();
  const auto* value = std::get_if<double>(&entry->value);
  if (value == nullptr) return wrongType(*entry, "a float");
  return std::optional<double>(*value);
}

Result<std::optional<bool>> GgufMetadata::boolean(std::string_view key) const {
  const GgufEntry* entry = find(key);
  if (entry == nullptr) return std::optional<bool>();
  const auto* value = std::get_if<bool>(&entry->value);
  if (value == nullptr) return wrongType(*entry, "a bool");
  return std::optional<bool>(*value);
}

Result<std::optional<std::string>> GgufMetadata::text(std::string_view key) const {
  const GgufEntry* entry = find(key);
  if (entry == nullptr) return std::optional<std::string>();
  const auto* value = std::get_if<std::string_view>(&entry->value);
  if (value == nullptr) return wrongType(*entry, "a string");
  return std::optional<std::string>(*value);
}

// `convert` turns an element into an optional T, empty when it is of another kind.
template <typename T, typename Convert>
Result<std::optional<std::vector<T>>> GgufMetadata::list(std::string_view key,
                                                         std::string_view wanted,
                                                         Convert convert) const {
  const GgufEntry* entry = find(key);
  if (entry == nullptr) return std::optional<std::vector<T>>();
  const auto* array = std::get_if<GgufArray>(&entry->value);
  if (array == nullptr) return wrongType(*entry, wanted);
  std::vector<T> out;
  out.reserve(array->count);  // at most as many as the file has bytes
  GgufArrayReader reader(*array);
  GgufValue element;
  while (reader.next(element)) {
    std::optional<T> value = convert(element);
    if (!value) return wrongType(*entry, wanted);
    out.push_back(std::move(*value));
  }
  return std::optional<std::vector<T>>(std::move(out));
}

Result<std::optional<std::vector<std::string>>> GgufMetadata::texts(std::string_view key) const {
  return list<std::string>(key, "an array of strings", [](const GgufValue& value) {
    const auto* text = std::get_if<std::string_view>(&value);
    return text == nullptr ? std::nullopt : std::optional<std::string>(*text);
  });
}

Result<std::optional<std::vector<std::int64_t>>> GgufMetadata::integers(
    std::string_view key) const {
  return list<std::int64_t>(key, "an array of integers", asInteger);
}

Result<std::optional<std::vector<float>>> GgufMetadata::numbers(std::string_view key) const {
  return list<float>(key, "an array of floats", [](const GgufValue& value) {
    const auto* real = std::get_if<double>(&value);
    return real == nullptr ? std::nullopt : std::optional<float>(static_cast<float>(*real));
  });
}

}  // namespace engine::model
