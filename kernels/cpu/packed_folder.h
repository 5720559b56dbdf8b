// The folder of packed weights: where a file lies in it, and which go when it gets too large.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/core/status.h"
#include "kernels/cpu/content_hash.h"

namespace kernels::cpu {

// Files of other programs in it are neither counted nor touched. Any number of processes may use
// one folder at a time. Thread-compatible.
class PackedFolder {
 public:
  static constexpr std::uint64_t kMaxBytes = std::uint64_t{8} << 30;

  // limitBytes: that all files together stay below, if a quarter of the disk space which they may
  // take is not even less.
  explicit PackedFolder(std::string path, std::uint64_t limitBytes = kMaxBytes);

  const std::string& path() const { return m_path; }

  std::string fileOf(const ContentHash& key) const;
  // Makes the folder where there is none, and removes the files not used for longest, so that one
  // of so many bytes (its header too) fits. DeviceFailed, with nothing removed, when none so large
  // may be kept, or with the system's reason.
  Status makeRoom(const ContentHash& key, std::uint64_t bytes) const;

 private:
  std::string m_path;
  std::uint64_t m_limitBytes;
};

}  // namespace kernels::cpu
