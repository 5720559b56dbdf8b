#include "tests/support/gguf_writer.h"

#include <cstdio>
#include <fstream>
#include <iterator>
#include <utility>

#include "engine/base/check.h"

namespace test_support {

using engine::model::GgufType;

ByteString& ByteString::raw(const void* data, std::size_t size) {
  m_bytes.append(static_cast<const char*>(data), size);
  return *this;
}

ByteString& ByteString::text(std::string_view value) {
  return raw(value.data(), value.size());
}

ByteString& ByteString::string(std::string_view value) {
  return u64(value.size()).text(value);
}

ByteString& ByteString::zeros(std::size_t count) {
  m_bytes.append(count, '\0');
  return *this;
}

ByteString ggufHeader(std::uint64_t numTensors, std::uint64_t numEntries, std::uint32_t version) {
  ByteString out;
  return out.text("GGUF").u32(version).u64(numTensors).u64(numEntries);
}

ByteString& GgufWriter::begin(std::string_view key, GgufType type) {
  ++m_numEntries;
  return m_entries.string(key).u32(static_cast<std::uint32_t>(type));
}

void GgufWriter::add(std::string_view key, std::uint32_t value) {
  begin(key, GgufType::UInt32).u32(value);
}

void GgufWriter::add(std::string_view key, float value) {
  begin(key, GgufType::Float32).f32(value);
}

void GgufWriter::add(std::string_view key, bool value) {
  begin(key, GgufType::Bool).u8(value ? 1 : 0);
}

void GgufWriter::add(std::string_view key, std::string_view value) {
  begin(key, GgufType::String).string(value);
}

void GgufWriter::add(std::string_view key, const std::vector<std::string>& values) {
  begin(key, GgufType::Array).u32(static_cast<std::uint32_t>(GgufType::String)).u64(values.size());
  for (const std::string& value : values) m_entries.string(value);
}

void GgufWriter::add(std::string_view key, const std::vector<float>& values) {
  begin(key, GgufType::Array).u32(static_cast<std::uint32_t>(GgufType::Float32)).u64(values.size());
  for (const float value : values) m_entries.f32(value);
}

void GgufWriter::add(std::string_view key, const std::vector<std::int32_t>& values) {
  begin(key, GgufType::Array).u32(static_cast<std::uint32_t>(GgufType::Int32)).u64(values.size());
  for (const std::int32_t value : values) m_entries.u32(static_cast<std::uint32_t>(value));
}

void GgufWriter::addRaw(std::string_view key, GgufType type, const ByteString& value) {
  begin(key, type).text(value.bytes());
}

void GgufWriter::addTensor(std::string_view name,
                           std::uint32_t typeId,
                           const std::vector<std::int64_t>& shape,
                           std::string data) {
  m_tensors.push_back({std::string(name), typeId, shape, std::move(data)});
}

std::string GgufWriter::bytes() const {
  ByteString out = ggufHeader(m_tensors.size(), m_numEntries);
  out.text(m_entries.bytes());
  std::size_t offset = 0;
  for (const Tensor& tensor : m_tensors) {
    out.string(tensor.name).u32(static_cast<std::uint32_t>(tensor.shape.size()));
    for (const std::int64_t size : tensor.shape) out.u64(static_cast<std::uint64_t>(size));
    out.u32(tensor.typeId).u64(offset);
    offset += aligned(tensor.data.size());
  }
  out.zeros(aligned(out.bytes().size()) - out.bytes().size());
  for (const Tensor& tensor : m_tensors) {
    out.text(tensor.data).zeros(aligned(tensor.data.size()) - tensor.data.size());
  }
  return out.bytes();
}

std::vector<std::string> GgufWriter::splitBytes(int count) const {
  std::vector<std::string> files;
  for (int part = 0; part < count; ++part) {
    GgufWriter writer(m_alignment);
    if (part == 0) writer = *this;
    writer.m_tensors.clear();
    const auto wanted = static_cast<std::size_t>(part), parts = static_cast<std::size_t>(count);
    for (std::size_t i = 0; i < m_tensors.size(); ++i) {
      if (i * parts / m_tensors.size() == wanted) writer.m_tensors.push_back(m_tensors[i]);
    }
    writer.addRaw("split.no", GgufType::UInt16, ByteString().u16(static_cast<std::uint16_t>(part)));
    writer.addRaw("split.count", GgufType::UInt16,
                  ByteString().u16(static_cast<std::uint16_t>(count)));
    writer.addRaw("split.tensors.count", GgufType::Int32,
                  ByteString().u32(static_cast<std::uint32_t>(m_tensors.size())));
    files.push_back(writer.bytes());
  }
  return files;
}

void GgufWriter::writeTo(const std::string& path) const {
  writeFile(path, bytes());
}

void writeFile(const std::string& path, std::string_view bytes) {
  std::remove(path.c_str());  // overwriting in place makes some file systems flush at once
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  CHECK(file.good());
}

std::string readFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  CHECK(file.good());
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace test_support
