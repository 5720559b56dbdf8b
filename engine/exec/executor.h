// Runs the rows of a step on some device: a real model here, a simulated one in engine/sim, a toy
// in tests. Knows nothing of requests or of scheduling.
#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "engine/base/ids.h"
#include "engine/base/result.h"
#include "engine/exec/sequence_rows.h"
#include "kernels/core/kv_layout.h"
#include "kernels/core/ops.h"

namespace engine::exec {

// Takes the logits of a step.
struct LogitsSink {
  // Rows [first, first + count) of the step, numbered over all sequences in order.
  //   logits [count, vocabSize] f32, valid during the call
  using Rows = std::function<void(int first, int count, const float* logits)>;

  LogitsSink() = default;

  template <std::invocable<int, int, const float*> Fn>
  LogitsSink(Fn rowsSink, kernels::LogitsWatch runsSink = {})
      : rows(std::move(rowsSink)), runs(std::move(runsSink)) {}

  void operator()(int first, int count, const float* logits) const { rows(first, count, logits); }

  Rows rows;
  // Where it is not empty, an executor may tell it of the rows that come next, run by run: row 0 is
  // the `first` of the next call.
  kernels::LogitsWatch runs;
};

// Engine thread only.
class Executor {
 public:
  virtual ~Executor() = default;

  // Writes the K and V of all rows into their blocks and hands the wanted logits to `sink`, at most
  // maxLogitRows() at a time. Cancelled soon after `cancel` rises; what the step wrote is then
  // undefined beyond the tokens computed before it. A failure concerns this step alone,
  // but for CorruptFile: the model's file lost bytes, and no step can succeed any more.
  virtual Result<void> execute(std::span<const SequenceRows> sequences,
                               const std::atomic<bool>* cancel,
                               const LogitsSink& sink) = 0;

  // fn(item, thread) once for each item of [0, count), in any order, on threads [0, info().threads)
  // of the device, which have nothing else to do then; also from within a sink. fn must not throw.
  virtual void shareOut(int count, const std::function<void(int item, int thread)>& fn) {
    for (int item = 0; item < count; ++item) fn(item, 0);
  }

  virtual std::int64_t vocabSize() const = 0;
  virtual int maxLogitRows() const = 0;
  virtual const kernels::KvLayout& layout() const = 0;
  virtual kernels::BackendInfo info() const = 0;
  virtual kernels::OpsCounters takeCounters() = 0;

  // What makes the results since some step doubtful, said once: "dir/model.gguf: was changed while it
  // was in use"; mostly empty.
  virtual std::string takeWarning() { return {}; }

  // Whole blocks, all layers, in the order given.
  virtual void copyBlocks(std::span<const kernels::BlockCopy> copies) = 0;
  // One block to and from host memory: layout().bytesPerBlock() bytes.
  virtual void readBlock(BlockId block, std::byte* out) const = 0;
  virtual void writeBlock(BlockId block, const std::byte* in) = 0;
};

}  // namespace engine::exec
