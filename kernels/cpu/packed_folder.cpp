#include "kernels/cpu/packed_folder.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "kernels/cpu/packed_file.h"

namespace kernels::cpu {

namespace {

constexpr std::size_t kNameLength = 32;              // of a key
constexpr const char* kSuffix = ".packed";           // an unfinished file has seven letters more
constexpr std::time_t kUnfinishedSeconds = 60 * 60;  // longer than any file takes to be written

struct Kept {
  std::string path;
  std::uint64_t bytes = 0;
  timespec used{};
  bool isUnfinished = false;
};

bool isOlder(const Kept& a, const Kept& b) {
  return std::pair(a.used.tv_sec, a.used.tv_nsec) < std::pair(b.used.tv_sec, b.used.tv_nsec);
}

bool isOurName(std::string_view name) {
  const std::string_view suffix = kSuffix;
  return name.size() >= kNameLength + suffix.size() &&
         name.substr(0, kNameLength).find_first_not_of("0123456789abcdef") == name.npos &&
         name.substr(kNameLength, suffix.size()) == suffix;
}

// Those written here, the one not used for longest first.
std::vector<Kept> keptIn(const std::string& folder) {
  std::vector<Kept> kept;
  std::error_code failure;
  std::filesystem::directory_iterator entry(folder, failure), end;
  for (; !failure && entry != end; entry.increment(failure)) {
    const std::string name = entry->path().filename().string();
    Kept file{entry->path().string(), 0, {}, name.size() > kNameLength + std::strlen(kSuffix)};

    struct stat facts {};

    if (!isOurName(name) || !isPackedFile(file.path) || stat(file.path.c_str(), &facts) != 0) {
      continue;
    }
    file.bytes = static_cast<std::uint64_t>(facts.st_size);
    file.used = facts.st_mtim;
    kept.push_back(std::move(file));
  }
  std::sort(kept.begin(), kept.end(), isOlder);
  return kept;
}

// Empty when it is there.
std::string makeFolder(const std::string& path) {
  for (std::size_t at = 1; at != std::string::npos;) {
    at = path.find('/', at + 1);
    if (mkdir(path.substr(0, at).c_str(), 0700) != 0 && errno != EEXIST)
      return std::strerror(errno);
  }

  struct stat facts {};

  if (stat(path.c_str(), &facts) != 0) return std::strerror(errno);
  return S_ISDIR(facts.st_mode) ? std::string() : std::strerror(ENOTDIR);
}

std::uint64_t freeBytesIn(const std::string& folder) {
  struct statvfs facts {};

  if (statvfs(folder.c_str(), &facts) != 0) return 0;
  return static_cast<std::uint64_t>(facts.f_bavail) * facts.f_frsize;
}

}  // namespace

PackedFolder::PackedFolder(std::string path, std::uint64_t limitBytes)
    : m_path(std::move(path)), m_limitBytes(limitBytes) {}

std::string PackedFolder::fileOf(const ContentHash& key) const {
  return m_path + "/" + hexOf(key) + kSuffix;
}

Status PackedFolder::makeRoom(const ContentHash& key, std::uint64_t bytes) const {
  if (const std::string reason = makeFolder(m_path); !reason.empty()) {
    return Status::failed(Outcome::DeviceFailed, "the folder cannot be made: " + reason);
  }
  const std::vector<Kept> kept = keptIn(m_path);
  const std::string own = fileOf(key);
  std::uint64_t total = 0, replaced = 0;
  for (const Kept& file : kept) (file.path == own ? replaced : total) += file.bytes;
  const std::uint64_t quarter = (freeBytesIn(m_path) + total + replaced) / 4;
  const std::uint64_t limit = std::min(m_limitBytes, quarter);
  if (bytes > limit) {
    return Status::failed(
        Outcome::DeviceFailed,
        std::to_string(bytes) + " bytes do not fit: the limit here is " + std::to_string(limit));
  }
  const std::time_t now = std::time(nullptr);
  for (const Kept& file : kept) {
    // not one that somebody is still writing
    if (file.isUnfinished && now - file.used.tv_sec < kUnfinishedSeconds) continue;
    if (file.path == own || (total + bytes <= limit && !file.isUnfinished)) continue;
    std::error_code failure;
    if (std::filesystem::remove(file.path, failure)) total -= file.bytes;
  }
  return Status::ok();
}

}  // namespace kernels::cpu
