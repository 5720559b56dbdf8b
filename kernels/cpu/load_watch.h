// What the long parts of a load look at and tell between two pieces of their work.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <span>

namespace kernels::cpu {

struct LoadWatch {
  const std::atomic<bool>* cancel = nullptr;  // may be null
  std::function<void(double)> progress;       // 0..1, from the calling thread; may be empty
  std::function<void(std::span<const std::byte>)> release;  // BackendRequest::release

  bool isCancelled() const { return cancel != nullptr && cancel->load(std::memory_order_relaxed); }

  void tell(double fraction) const {
    if (progress) progress(fraction);
  }

  // After `bytes` of a source were read.
  void letGo(std::span<const std::byte> bytes) const {
    if (release) release(bytes);
  }

  // Of a part of the work that goes from `begin` to `end`. Must not outlive this one.
  LoadWatch part(double begin, double end) const {
    LoadWatch watch;
    watch.cancel = cancel;
    watch.release = release;
    if (progress) {
      watch.progress = [this, begin, end](double at) { progress(begin + (end - begin) * at); };
    }
    return watch;
  }
};

}  // namespace kernels::cpu
