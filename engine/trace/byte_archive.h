// Plain values as bytes and back: whole numbers as varints, floats as they lie in memory, strings
// and lists with their length before them. A struct takes part through an overload of fields(), an
// enum through one of isKnown().
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "engine/base/ids.h"

namespace engine::trace {

// Newer than any version that a fields() asks for.
inline constexpr std::uint32_t kLatestVersion = ~std::uint32_t{0};

// Maps small magnitudes of either sign to small unsigned numbers.
constexpr std::uint64_t zigzag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}

constexpr std::int64_t unzigzag(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
}

// Appends to a string. One thread.
class ByteWriter {
 public:
  static constexpr bool kReads = false;

  // Writes the latest version of every struct.
  static constexpr std::uint32_t version() { return kLatestVersion; }

  explicit ByteWriter(std::string& out) : m_out(out) {}

  template <typename... Ts>
  void operator()(const Ts&... values) {
    (write(values), ...);
  }

  // A time, as its distance from the one before.
  void time(std::int64_t ns) {
    varint(zigzag(static_cast<std::int64_t>(static_cast<std::uint64_t>(ns) -
                                            static_cast<std::uint64_t>(m_lastNs))));
    m_lastNs = ns;
  }

  void text(const char (&zeroTerminated)[32]) {
    write(std::string(zeroTerminated, ::strnlen(zeroTerminated, sizeof zeroTerminated)));
  }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) m_out.push_back(static_cast<char>(value | 0x80));
    m_out.push_back(static_cast<char>(value));
  }

  template <typename T>
  void write(const T& value) {
    if constexpr (std::is_enum_v<T>) {
      varint(static_cast<std::uint64_t>(value));
    } else if constexpr (std::is_floating_point_v<T>) {
      m_out.append(reinterpret_cast<const char*>(&value), sizeof value);
    } else if constexpr (std::is_unsigned_v<T>) {
      varint(value);
    } else if constexpr (std::is_integral_v<T>) {
      varint(zigzag(value));
    } else {
      // fields() serves both ways; this way it only reads
      fields(*this, const_cast<T&>(value));
    }
  }

  void write(const std::string& value) {
    varint(value.size());
    m_out += value;
  }

  template <typename Tag, typename Rep>
  void write(const StrongId<Tag, Rep>& id) {
    using Unsigned = std::make_unsigned_t<Rep>;
    varint(static_cast<Unsigned>(static_cast<Unsigned>(id.value) + 1));  // none is 0
  }

  template <typename T>
  void write(const std::vector<T>& values) {
    varint(values.size());
    for (const T& value : values) write(value);
  }

  template <typename T>
  void write(const std::optional<T>& value) {
    write(value.has_value());
    if (value) write(*value);
  }

  template <typename... Ts>
  void write(const std::variant<Ts...>& value) {
    varint(value.index());
    std::visit([this](const auto& v) { write(v); }, value);
  }

  std::string& m_out;
  std::int64_t m_lastNs = 0;
};

// Reads what a ByteWriter wrote. Never past the end, and never makes room for more than the bytes
// left could fill; after the first value that does not fit, isOk() is false and values are empty.
class ByteReader {
 public:
  static constexpr bool kReads = true;

  // version: of the structs in `bytes`, for a fields() that reads older ones too.
  explicit ByteReader(std::string_view bytes, std::uint32_t version = kLatestVersion)
      : m_bytes(bytes), m_version(version) {}

  std::uint32_t version() const { return m_version; }

  template <typename... Ts>
  void operator()(Ts&... values) {
    (read(values), ...);
  }

  void time(std::int64_t& ns) {
    m_lastNs = static_cast<std::int64_t>(static_cast<std::uint64_t>(m_lastNs) +
                                         static_cast<std::uint64_t>(unzigzag(varint())));
    ns = m_lastNs;
  }

  void text(char (&zeroTerminated)[32]) {
    std::string value;
    read(value);
    std::memset(zeroTerminated, 0, sizeof zeroTerminated);
    value.copy(zeroTerminated, sizeof zeroTerminated - 1);
  }

  bool isOk() const { return m_isOk; }

  bool isAtEnd() const { return m_isOk && m_bytes.empty(); }

  std::size_t numLeft() const { return m_bytes.size(); }

  void fail() {
    m_isOk = false;
    m_bytes = {};
  }

 private:
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (m_bytes.empty()) break;
      const auto byte = static_cast<std::uint8_t>(m_bytes.front());
      m_bytes.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    fail();
    return 0;
  }

  // A number of elements, each at least one byte.
  std::size_t count() {
    const std::uint64_t value = varint();
    if (value <= m_bytes.size()) return static_cast<std::size_t>(value);
    fail();
    return 0;
  }

  // A number that must fit its type.
  template <typename T, typename Wide>
  void narrow(T& value, Wide wide) {
    value = static_cast<T>(wide);
    if (static_cast<Wide>(value) != wide) {
      value = T{};
      fail();
    }
  }

  template <typename T>
  void read(T& value) {
    if constexpr (std::is_enum_v<T>) {
      std::underlying_type_t<T> number{};
      narrow(number, varint());
      value = static_cast<T>(number);
      if (!isKnown(*this, value)) fail();
    } else if constexpr (std::is_same_v<T, bool>) {
      const std::uint64_t number = varint();
      value = number != 0;
      if (number > 1) fail();
    } else if constexpr (std::is_floating_point_v<T>) {
      if (m_bytes.size() < sizeof value) return fail();
      std::memcpy(&value, m_bytes.data(), sizeof value);
      m_bytes.remove_prefix(sizeof value);
    } else if constexpr (std::is_unsigned_v<T>) {
      narrow(value, varint());
    } else if constexpr (std::is_integral_v<T>) {
      narrow(value, unzigzag(varint()));
    } else {
      fields(*this, value);
    }
  }

  void read(std::string& value) {
    const std::size_t size = count();
    value.assign(m_bytes.substr(0, size));
    m_bytes.remove_prefix(size);
  }

  template <typename Tag, typename Rep>
  void read(StrongId<Tag, Rep>& id) {
    std::make_unsigned_t<Rep> number{};
    narrow(number, varint());
    id.value = static_cast<Rep>(number - 1);
  }

  template <typename T>
  void read(std::vector<T>& values) {
    const std::size_t size = count();
    values.clear();
    for (std::size_t i = 0; i < size && m_isOk; ++i) read(values.emplace_back());
  }

  template <typename T>
  void read(std::optional<T>& value) {
    bool isThere = false;
    read(isThere);
    value.reset();
    if (isThere) read(value.emplace());
  }

  template <typename... Ts>
  void read(std::variant<Ts...>& value) {
    const std::uint64_t index = varint();
    std::uint64_t i = 0;
    const bool isFound = ((i++ == index && (read(value.template emplace<Ts>()), true)) || ...);
    if (!isFound) fail();
  }

  std::string_view m_bytes;
  std::uint32_t m_version;
  std::int64_t m_lastNs = 0;
  bool m_isOk = true;
};

}  // namespace engine::trace
