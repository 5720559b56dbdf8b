// A whole file mapped read-only into memory.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "engine/base/result.h"

namespace engine::model {

// Pages are read when touched. A file that somebody truncates while it is mapped raises SIGBUS on
// the lost pages; a model file must not be changed in place while it is loaded.
class MappedFile {
 public:
  // NotFound when there is no such file; InvalidArgument when it cannot be read or is no regular
  // file. An empty file maps to an empty span.
  static Result<MappedFile> open(const std::string& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {m_data, m_size}; }
  // Gives the pages read so far back to the system; they are read again when touched. From any
  // thread.
  void releasePages() const { releasePages(bytes()); }
  // The same of those that hold `bytes` and of up to 2 MiB before and behind; nothing when `bytes`
  // lies outside the file.
  void releasePages(std::span<const std::byte> bytes) const;

 private:
  MappedFile(const std::byte* data, std::size_t size) : m_data(data), m_size(size) {}

  const std::byte* m_data = nullptr;
  std::size_t m_size = 0;
};

}  // namespace engine::model
