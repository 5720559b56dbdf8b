#include "engine/model/mapped_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/model/safe_text.h"

namespace engine::model {

namespace {

// Touching a page maps those around it, up to a huge page. With less than whole spans of that, the
// first touch behind what was released would bring part of it back.
constexpr std::size_t kSpanBytes = std::size_t{2} << 20;

struct FileDescriptor {
  int value = -1;

  explicit FileDescriptor(int v) : value(v) {}

  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;

  ~FileDescriptor() {
    if (value >= 0) ::close(value);
  }
};

Error systemError(const std::string& path, const char* action, int number) {
  const ErrorCode code = number == ENOENT   ? ErrorCode::NotFound
                         : number == ENOMEM ? ErrorCode::OutOfMemory
                                            : ErrorCode::InvalidArgument;
  if (number == ENOENT) return fileError(code, path, "there is no such file");
  return fileError(code, path, std::string(action) + ": " + std::strerror(number));
}

}  // namespace

Result<MappedFile> MappedFile::open(const std::string& path) {
  if (path.empty()) return Error{ErrorCode::InvalidArgument, "the model path is empty"};
  // O_NONBLOCK: opening a pipe must not wait for its writer.
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.value < 0) return systemError(path, "cannot be opened", errno);

  struct stat status {};

  if (::fstat(file.value, &status) != 0) return systemError(path, "cannot be read", errno);
  if (S_ISDIR(status.st_mode)) {
    return fileError(ErrorCode::InvalidArgument, path, "is a folder, not a model file");
  }
  if (!S_ISREG(status.st_mode)) {
    return fileError(ErrorCode::InvalidArgument, path, "is not a regular file");
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return MappedFile(nullptr, 0);
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.value, 0);
  if (data == MAP_FAILED) return systemError(path, "cannot be mapped into memory", errno);
  return MappedFile(static_cast<const std::byte*>(data), size);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : m_data(std::exchange(other.m_data, nullptr)), m_size(std::exchange(other.m_size, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(m_data, other.m_data);
  std::swap(m_size, other.m_size);
  return *this;
}

void MappedFile::releasePages(std::span<const std::byte> bytes) const {
  const auto first = reinterpret_cast<std::uintptr_t>(m_data), last = first + m_size;
  const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data()), end = begin + bytes.size();
  if (bytes.empty() || begin < first || end > last) return;
  const std::uintptr_t from = std::max(first, begin / kSpanBytes * kSpanBytes);
  const std::uintptr_t to = std::min(last, (end + kSpanBytes - 1) / kSpanBytes * kSpanBytes);
  // a hint: where it is refused they stay, which costs only memory
  ::madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED);
}

MappedFile::~MappedFile() {
  if (m_data != nullptr) ::munmap(const_cast<std::byte*>(m_data), m_size);
}

}  // namespace engine::model
