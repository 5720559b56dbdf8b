// An open file that is closed when it goes.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <span>
#include <utility>

namespace kernels::cpu {

class FileDescriptor {
 public:
  explicit FileDescriptor(int number = -1) : m_number(number) {}

  FileDescriptor(FileDescriptor&& other) noexcept : m_number(std::exchange(other.m_number, -1)) {}

  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(m_number, other.m_number);
    return *this;
  }

  ~FileDescriptor() {
    if (m_number >= 0) close(m_number);
  }

  bool isOpen() const { return m_number >= 0; }

  int number() const { return m_number; }

  // All of `bytes` from `offset` on; false when the file has fewer or cannot be read.
  bool readAll(std::span<std::byte> bytes, std::size_t offset) const {
    while (!bytes.empty()) {
      const ssize_t count = pread(m_number, bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return false;
      bytes = bytes.subspan(static_cast<std::size_t>(count));
      offset += static_cast<std::size_t>(count);
    }
    return true;
  }

  // False, with errno, when not all could be written.
  bool writeAll(std::span<const std::byte> bytes, std::size_t offset) const {
    while (!bytes.empty()) {
      const ssize_t count =
          pwrite(m_number, bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return false;
      bytes = bytes.subspan(static_cast<std::size_t>(count));
      offset += static_cast<std::size_t>(count);
    }
    return true;
  }

 private:
  int m_number;
};

}  // namespace kernels::cpu
