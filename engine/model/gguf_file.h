// A GGUF file (version 2 or 3) or a model split into several, mapped, checked and indexed.
// Source: the format's specification, ggml docs/gguf.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/base/result.h"
#include "engine/model/gguf_metadata.h"
#include "engine/model/gguf_split.h"
#include "engine/model/gguf_types.h"
#include "engine/model/mapped_file.h"

namespace engine::model {

struct GgufTensor {
  std::string_view name;  // any bytes
  const GgufTensorType* type = nullptr;
  std::vector<std::int64_t> shape;  // fastest dimension first: a matrix is {cols, rows}
  std::int64_t elements = 0;
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;         // from the start of the file, or of its part
  const std::byte* data = nullptr;  // aligned to at least 8 bytes
};

// Everything inside the format's rules is checked at open, so later reads cannot leave the file;
// memory taken is proportional to the file's own bytes, never to counts it announces.
class GgufFile {
 public:
  // NotFound, InvalidArgument (cannot be read), CorruptFile (breaks the format, big-endian, a
  // version other than 2 and 3, or was changed meanwhile). A type the format defines but we do not run is no error here.
  // Any part of a split model opens the whole; a part that is not beside it is NotFound, named.
  static Result<GgufFile> open(const std::string& path);

  GgufFile(GgufFile&&) noexcept = default;
  GgufFile& operator=(GgufFile&&) noexcept = default;

  const std::string& path() const { return m_path; }  // of the first part

  std::uint64_t fileBytes() const { return m_fileBytes; }  // of all parts
  FileChange change() const;  // as MappedFile's; of several parts, the first that was cut short
  void releasePages() const;  // as MappedFile's, of all parts
  void releasePages(std::span<const std::byte> bytes) const;

  std::uint32_t version() const { return m_version; }

  const GgufMetadata& metadata() const { return m_metadata; }

  const std::vector<GgufTensor>& tensors() const { return m_tensors; }  // in file order

  const GgufTensor* findTensor(std::string_view name) const;  // null when absent

 private:
  GgufFile(std::string path, MappedFile file, GgufMetadata metadata);
  static Result<GgufFile> openPart(const std::string& path);
  static Result<GgufFile> readFile(const std::string& path, const MappedFile& mapped);
  static Result<GgufFile> openPartOf(const std::string& path, const GgufPart& part, int index);
  Result<void> addPart(GgufFile part);
  Result<void> checkTensorCount() const;
  Result<void> readTensors(GgufCursor& cursor, std::uint64_t count);
  Result<void> placeTensors(std::uint64_t headerEnd);
  Result<void> checkOverlaps() const;

  std::string m_path;
  MappedFile m_file;
  std::vector<MappedFile> m_otherParts;
  std::uint64_t m_fileBytes = 0;
  std::uint32_t m_version = 0;
  GgufMetadata m_metadata;
  std::vector<GgufTensor> m_tensors;
  std::unordered_map<std::string_view, std::size_t> m_index;
};

}  // namespace engine::model
