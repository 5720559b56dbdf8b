// Packed weights kept in files between loads: a model that was packed before is only read.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <thread>

#include "kernels/core/weight_view.h"
#include "kernels/cpu/content_hash.h"
#include "kernels/cpu/load_watch.h"
#include "kernels/cpu/packed_file.h"
#include "kernels/cpu/packed_folder.h"
#include "kernels/cpu/thread_pool.h"
#include "kernels/cpu/tile_layout.h"

namespace kernels::cpu {

// Of one set of weights. A file is named by what it was packed of (packed_key.h) and checked before
// it is used; what cannot be used is packed again and replaced, and what cannot be kept costs the
// load nothing but the time: note() says so. Thread-compatible.
class PackedCache {
 public:
  // How long a file that is still being written may hold up whoever unloads.
  static constexpr std::chrono::milliseconds kPatience{2000};
  // Where read() is in its progress when it knows whether there is a file.
  static constexpr double kHashShare = 0.3;

  explicit PackedCache(PackedFolder folder) : m_folder(std::move(folder)) {}

  PackedCache(const PackedCache&) = delete;
  // Waits for keep(), kPatience at most; an unfinished file goes.
  ~PackedCache();

  // Hashes the sources, then fills `payload` if they were kept. As readPackedFile; to be called
  // before keep().
  PackedRead read(std::span<const WeightView> sources,
                  CodeOrder order,
                  std::span<std::byte> payload,
                  std::span<const std::size_t> roundEnds,
                  ThreadPool& pool,
                  const LoadWatch& watch);
  // Writes from a thread of its own, of lowest priority, what read() has not found. `payload` must
  // stay as it is until finish() has returned or this is gone.
  void keep(std::span<const std::byte> payload);
  // Waits until the file is written.
  void finish();

  // Why the weights are not kept, as one sentence; else empty.
  std::string note() const;

 private:
  void write(std::span<const std::byte> payload);
  std::string sentence(const std::string& reason) const;

  PackedFolder m_folder;
  ContentHash m_key;
  PackedFileWriter m_writer;
  std::string m_reason,
      m_lateReason;  // m_lateReason belongs to the writing thread until it is done
  std::atomic<std::int64_t> m_deadlineNs{0};  // of the steady clock; 0 = none
  std::atomic<bool> m_isDone{false};
  std::thread m_thread;
};

}  // namespace kernels::cpu
