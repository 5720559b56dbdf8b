// The operations of a decoder, as large as fusion needs. A backend owns packed weights, the KV pool
// and the activations of a step; a step calls embed, then qkv/attend/project/mlp per layer, then
// logits. For one recipe, a row's bits depend only on its own sequence, never on its batch mates,
// the chunking, the block size or the thread count.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "kernels/core/decoder_spec.h"
#include "kernels/core/kv_layout.h"
#include "kernels/core/ragged_batch.h"
#include "kernels/core/status.h"

namespace kernels {

struct BackendInfo {
  std::string device;  // "CPU"
  std::string isa;     // recipe in force: "reference", "avx2", "avx512vnni"
  std::string note;    // why it is not what was asked for, slow, or not kept; else empty
  int threads = 1;
  std::size_t weightBytes = 0, kvBytes = 0, scratchBytes = 0;
};

// Counts of the last step, for the roofline: what the linear layers did and how long they took.
struct OpsCounters {
  double linearOps = 0;  // 2*M*N*K
  double linearNs = 0;
  double attentionNs = 0;
  // Of the backend's threads (BackendInfo::threads): those other than the caller at work, together,
  // and the caller waiting for them. What else the caller does is its own work.
  double helpNs = 0, waitNs = 0;
};

// Columns of a row of logits that are told of together.
inline constexpr int kLogitsRun = 256;

// Told of one such run of a row of logits, columns [kLogitsRun * run, + numColumns), while they are
// near, on the thread that made them. A run whose columns were made more precise is told of again:
// the last time counts. Rows count from the first that was asked for.
using LogitsWatch = std::function<void(int row, int run, const float* columns, int numColumns)>;

// Engine thread only; the backend spreads work over its own threads.
class Ops {
 public:
  virtual ~Ops() = default;

  virtual BackendInfo info() const = 0;

  // x[row] = embedding[token] * embedScale
  virtual Status embed(const RaggedBatch& batch) = 0;
  // norm -> q,k,v projections -> bias -> q/k norm -> rope -> K and V into the cache
  virtual Status qkv(int layer, const RaggedBatch& batch) = 0;
  // attention over the cache, own chunk included
  virtual Status attend(int layer, const RaggedBatch& batch) = 0;
  // output projection -> post norm -> residual
  virtual Status project(int layer, const RaggedBatch& batch) = 0;
  // norm -> gate, up -> activation -> down -> post norm -> residual
  virtual Status mlp(int layer, const RaggedBatch& batch) = 0;
  // Final norm and output matrix for logitRows[first, first+count):  out [count, vocabSize] f32.
  // `watch` may be empty; else it is told of every run, unless the call fails.
  virtual Status logits(
      const RaggedBatch& batch, int first, int count, float* out, const LogitsWatch& watch) = 0;

  // Whole blocks, all layers, in the order given.
  virtual void copyBlocks(std::span<const BlockCopy> copies) = 0;
  // One block's bytes (layout().bytesPerBlock()) to and from host memory, for swapping.
  virtual void readBlock(std::int32_t block, std::byte* out) const = 0;
  virtual void writeBlock(std::int32_t block, const std::byte* in) = 0;

  // fn(item, thread) once for each item of [0, count), in any order, on the backend's own threads
  // [0, info().threads), which have nothing else to do then. fn must not throw. Here: one by one.
  virtual void shareOut(int count, const std::function<void(int item, int thread)>& fn) {
    for (int item = 0; item < count; ++item) fn(item, 0);
  }

  virtual const KvLayout& layout() const = 0;
  virtual OpsCounters takeCounters() = 0;  // since the last call
};

struct BackendRequest {
  const DecoderSpec* spec = nullptr;        // copied
  const DecoderWeights* weights = nullptr;  // read (and packed) during the call; the bytes behind
                                            // its views must outlive the Ops
  KvLayout layout;                          // numBlocks > 0
  int maxBatchedTokens = 512;               // scratch is sized for this; more rows are an error
  int threads = 1;
  std::function<void(double)> progress;       // 0..1, called from the calling thread; may be empty
  const std::atomic<bool>* cancel = nullptr;  // may be null
  // Told which of the bytes behind the views were read and are not needed for now, so that they
  // need not stay in memory beside what was packed of them. Called from any thread; may be empty.
  std::function<void(std::span<const std::byte>)> release;
  // Folder in which packed weights are kept between loads (made when there is none); empty = nowhere.
  // A backend that packs none, or cannot write there, loads all the same.
  std::string packedFolder;
  // Asked once all bytes were read, before packed weights are kept: false when they may have changed
  // since the call began, so that what was made of them must not be taken for theirs. Empty = true.
  std::function<bool()> mayKeep;
};

struct BackendResult {
  Status status;
  std::unique_ptr<Ops> ops;  // null unless status is Ok
};

namespace reference {
// float32 activations, weights dequantised row by row, one plain loop each: the truth for tests.
BackendResult createOps(const BackendRequest& request);
}  // namespace reference

namespace cpu {
// The CPU's numeric recipes. AmxBf16: Amx's instructions, but weights and rows rounded to bf16.
enum class Isa : std::uint8_t { Avx2, AvxVnni, Avx512Vnni, Amx, AmxBf16 };
// What this processor and operating system can run, best first; empty = none of ours (use
// reference).
std::span<const Isa> supportedIsas();
// Packed layouts and vector kernels. Unsupported (named) when `isa` cannot run here.
BackendResult createOps(const BackendRequest& request, Isa isa);
}  // namespace cpu

}  // namespace kernels
