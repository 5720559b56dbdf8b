// Writes GGUF bytes for tests: well-formed ones from entries and tensors, broken ones from raw
// parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/gguf_types.h"

namespace test_support {

// Little-endian values appended to a string of bytes.
class ByteString {
 public:
  ByteString& u8(std::uint8_t value) { return raw(&value, 1); }

  ByteString& u16(std::uint16_t value) { return raw(&value, 2); }

  ByteString& u32(std::uint32_t value) { return raw(&value, 4); }

  ByteString& u64(std::uint64_t value) { return raw(&value, 8); }

  ByteString& f32(float value) { return raw(&value, 4); }

  ByteString& f64(double value) { return raw(&value, 8); }

  ByteString& text(std::string_view value);    // bytes alone
  ByteString& string(std::string_view value);  // length, then bytes
  ByteString& zeros(std::size_t count);

  const std::string& bytes() const { return m_bytes; }

 private:
  ByteString& raw(const void* data, std::size_t size);
  std::string m_bytes;
};

// A file's front: magic, version, counts.
ByteString ggufHeader(std::uint64_t numTensors,
                      std::uint64_t numEntries,
                      std::uint32_t version = 3);

// Collects entries and tensors in order. Nothing is checked: duplicate keys are written twice.
class GgufWriter {
 public:
  explicit GgufWriter(std::uint32_t alignment = 32) : m_alignment(alignment) {}

  void add(std::string_view key, std::uint32_t value);
  void add(std::string_view key, float value);
  void add(std::string_view key, bool value);
  void add(std::string_view key, std::string_view value);

  void add(std::string_view key, const char* value) { add(key, std::string_view(value)); }

  void add(std::string_view key, const std::vector<std::string>& values);
  void add(std::string_view key, const std::vector<float>& values);
  void add(std::string_view key, const std::vector<std::int32_t>& values);
  // An entry of any kind: the value's bytes as they lie in the file.
  void addRaw(std::string_view key, engine::model::GgufType type, const ByteString& value);

  // `shape` fastest dimension first; `typeId` as the format numbers it.
  void addTensor(std::string_view name,
                 std::uint32_t typeId,
                 const std::vector<std::int64_t>& shape,
                 std::string data);

  std::string bytes() const;
  // The same as `count` files: the first with all entries, each with its share of the tensors.
  std::vector<std::string> splitBytes(int count) const;
  void writeTo(const std::string& path) const;

 private:
  struct Tensor {
    std::string name;
    std::uint32_t typeId;
    std::vector<std::int64_t> shape;
    std::string data;
  };

  ByteString& begin(std::string_view key, engine::model::GgufType type);

  std::size_t aligned(std::size_t size) const {
    return (size + m_alignment - 1) / m_alignment * m_alignment;
  }

  std::uint32_t m_alignment;
  std::uint64_t m_numEntries = 0;
  ByteString m_entries;
  std::vector<Tensor> m_tensors;
};

// Stops the test program when the disk does not take it.
void writeFile(const std::string& path, std::string_view bytes);
std::string readFile(const std::string& path);

}  // namespace test_support
