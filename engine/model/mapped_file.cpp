#include "engine/model/mapped_file.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "engine/model/mapping_guard.h"
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

struct MappedRange {
  const std::byte* data = nullptr;
  std::size_t size = 0;

  MappedRange() = default;
  MappedRange(const MappedRange&) = delete;
  MappedRange& operator=(const MappedRange&) = delete;

  ~MappedRange() {
    if (data != nullptr) ::munmap(const_cast<std::byte*>(data), size);
  }
};

Error systemError(const std::string& path, const char* action, int number) {
  const ErrorCode code = number == ENOENT   ? ErrorCode::NotFound
                         : number == ENOMEM ? ErrorCode::OutOfMemory
                                            : ErrorCode::InvalidArgument;
  if (number == ENOENT) return fileError(code, path, "there is no such file");
  return fileError(code, path, std::string(action) + ": " + std::strerror(number));
}

bool isSameTime(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

}  // namespace

struct MappedFile::Mapping {
  Mapping(std::string thePath, int descriptor) : path(std::move(thePath)), file(descriptor) {}

  const std::string path;
  const FileDescriptor file;  // stays open: it stands for the file whatever becomes of the path
  timespec modified{};
  std::atomic<bool> isCut{false};
  MappedRange range;
  MappingGuard guard;  // goes before the range
};

Result<MappedFile> MappedFile::open(const std::string& path) {
  if (path.empty()) return Error{ErrorCode::InvalidArgument, "the model path is empty"};
  // O_NONBLOCK: opening a pipe must not wait for its writer.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return systemError(path, "cannot be opened", errno);
  const auto mapping = std::make_shared<Mapping>(path, descriptor);

  struct stat status {};

  if (::fstat(mapping->file.value, &status) != 0) return systemError(path, "cannot be read", errno);
  if (S_ISDIR(status.st_mode)) {
    return fileError(ErrorCode::InvalidArgument, path, "is a folder, not a model file");
  }
  if (!S_ISREG(status.st_mode)) {
    return fileError(ErrorCode::InvalidArgument, path, "is not a regular file");
  }
  mapping->modified = status.st_mtim;
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return MappedFile(mapping);
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, mapping->file.value, 0);
  if (data == MAP_FAILED) return systemError(path, "cannot be mapped into memory", errno);
  mapping->range.data = static_cast<const std::byte*>(data);
  mapping->range.size = size;
  if (!mapping->guard.guard({mapping->range.data, size})) {
    return fileError(ErrorCode::OutOfMemory, path,
                     fmt::format("cannot be mapped into memory: {} files are mapped already",
                                 MappingGuard::kMaxMappings));
  }
  return MappedFile(mapping);
}

std::span<const std::byte> MappedFile::bytes() const {
  if (!m_mapping) return {};
  return {m_mapping->range.data, m_mapping->range.size};
}

FileChange MappedFile::change() const {
  if (!m_mapping) return {};
  const std::size_t size = m_mapping->range.size;

  struct stat status {};

  // a file system that does not answer says nothing of the content
  const bool isKnown = ::fstat(m_mapping->file.value, &status) == 0;
  const std::size_t now = isKnown ? static_cast<std::size_t>(status.st_size) : size;
  if (now < size) m_mapping->isCut.store(true, std::memory_order_relaxed);
  if (m_mapping->isCut.load(std::memory_order_relaxed) || m_mapping->guard.hasZeros()) {
    return {ChangeKind::CutShort, m_mapping->path, size, now};
  }
  if (now == size && (!isKnown || isSameTime(status.st_mtim, m_mapping->modified))) return {};
  return {ChangeKind::Changed, m_mapping->path, size, now};
}

void MappedFile::releasePages(std::span<const std::byte> bytes) const {
  const std::span<const std::byte> all = this->bytes();
  const auto first = reinterpret_cast<std::uintptr_t>(all.data()), last = first + all.size();
  const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data()), end = begin + bytes.size();
  if (bytes.empty() || begin < first || end > last) return;
  const std::uintptr_t from = std::max(first, begin / kSpanBytes * kSpanBytes);
  const std::uintptr_t to = std::min(last, (end + kSpanBytes - 1) / kSpanBytes * kSpanBytes);
  // a hint: where it is refused they stay, which costs only memory
  ::madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED);
}

}  // namespace engine::model
