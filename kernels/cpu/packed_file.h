// One file of packed weights: a header of 4 KiB, then the payload as it lies in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "kernels/core/status.h"
#include "kernels/cpu/content_hash.h"
#include "kernels/cpu/file_descriptor.h"
#include "kernels/cpu/load_watch.h"
#include "kernels/cpu/thread_pool.h"

namespace kernels::cpu {

inline constexpr std::size_t kPackedHeaderBytes = 4096;

enum class PackedRead : std::uint8_t { Read, Unusable, Cancelled };

// Fills `payload` with all threads of the pool, and marks the file as used now. Unusable when there
// is no such file, or when it is not, to the byte, what was written for this key and size: then,
// and when cancelled, `payload` holds anything. roundEnds: rising byte offsets; what lies between
// two distant ones is shared out as packing shares out a matrix, so that its pages come to the same
// threads.
PackedRead readPackedFile(const std::string& path,
                          const ContentHash& key,
                          std::span<std::byte> payload,
                          std::span<const std::size_t> roundEnds,
                          ThreadPool& pool,
                          const LoadWatch& watch);

// True for a regular file that begins as those written here, also an unfinished one.
bool isPackedFile(const std::string& path);

// Writes beside the place first, so that nobody finds half a file there. Thread-compatible.
class PackedFileWriter {
 public:
  PackedFileWriter() = default;
  PackedFileWriter(const PackedFileWriter&) = delete;
  ~PackedFileWriter();  // an unfinished file goes

  // Makes the unfinished file and reserves its room on the disk. DeviceFailed with the system's
  // reason.
  Status open(const std::string& path, std::size_t payloadBytes);
  // Writes, asking isStopped between pieces, and puts the file in its place. DeviceFailed with the
  // system's reason, Cancelled when stopped; the unfinished file is gone then.
  Status write(const ContentHash& key,
               std::span<const std::byte> payload,
               const std::function<bool()>& isStopped);

 private:
  Status writeAll(const ContentHash& key,
                  std::span<const std::byte> payload,
                  const std::function<bool()>& isStopped);
  void discard();

  std::string m_path, m_unfinished;  // m_unfinished is empty when there is none
  FileDescriptor m_file;
};

}  // namespace kernels::cpu
