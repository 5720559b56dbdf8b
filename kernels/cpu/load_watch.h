// What the long parts of a load look at and tell between two pieces of their work.
#pragma once

#include <atomic>
#include <functional>

namespace kernels::cpu {

struct LoadWatch {
  const std::atomic<bool>* cancel = nullptr;  // may be null
  std::function<void(double)> progress;       // 0..1, from the calling thread; may be empty

  bool isCancelled() const { return cancel != nullptr && cancel->load(std::memory_order_relaxed); }

  void tell(double fraction) const {
    if (progress) progress(fraction);
  }

  // Of a part of the work that goes from `begin` to `end`. Must not outlive this one.
  LoadWatch part(double begin, double end) const {
    LoadWatch watch;
    watch.cancel = cancel;
    if (progress) {
      watch.progress = [this, begin, end](double at) { progress(begin + (end - begin) * at); };
    }
    return watch;
  }
};

}  // namespace kernels::cpu
