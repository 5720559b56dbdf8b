// The weights of a decoder as the CPU kernels read them.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/core/key_form.h"
#include "kernels/core/ops.h"
#include "kernels/cpu/huge_arena.h"
#include "kernels/cpu/load_watch.h"
#include "kernels/cpu/packed_cache.h"
#include "kernels/cpu/packed_matrix.h"
#include "kernels/cpu/thread_pool.h"

namespace kernels::cpu {

struct PackedLayer {
  PackedMatrix qkv;  // parts: q, k, v
  PackedMatrix attnOut;
  PackedMatrix gateUp;  // parts: gate, up
  PackedMatrix down;
  // Empty when the family has none.
  std::vector<float> attnNorm, ffnNorm, postAttnNorm, postFfnNorm, qNorm, kNorm, qBias, kBias,
      vBias;
  KeyForm keyForm;
};

// The embedding stays in the file's bytes: a step reads few of its rows.
class PackedDecoder {
 public:
  // Packs with all threads of the pool, or reads what request.packedFolder has kept: the same
  // bytes. Looks at request.cancel and tells request.progress.
  Status pack(const BackendRequest& request, CodeOrder order, ThreadPool& pool);

  const PackedLayer& layer(int index) const { return m_layers[static_cast<std::size_t>(index)]; }

  const PackedMatrix& output() const { return m_output; }

  const std::vector<float>& outputNorm() const { return m_outputNorm; }

  const WeightView& embedding() const { return m_embedding; }

  std::size_t bytes() const { return m_arena.used(); }

  // True when some matrix holds plain floats and wants f32 activations.
  bool needsFloats() const;

  // Names the formats that are slow here, or says why weights are not kept; empty when neither is
  // so.
  std::string note() const;

  // True when the weights were read, not packed.
  bool wasRead() const { return m_wasRead; }

  // Waits until packed weights are written to request.packedFolder, if they will be.
  void finishKeeping() {
    if (m_cache) m_cache->finish();
  }

 private:
  std::vector<PackedMatrix*> matrices();
  Status plan(const BackendRequest& request, CodeOrder order);
  Status reserve(bool withUnits);
  Status packAll(ThreadPool& pool, const LoadWatch& watch);
  PackedRead readKept(CodeOrder order, ThreadPool& pool, const LoadWatch& watch);
  void keep();

  HugeArena m_arena;
  std::vector<std::byte*> m_places;  // of each of matrices()
  std::size_t m_tileBytes = 0;     // of all; the units of their sums follow where weights are kept
  std::span<std::byte> m_payload;  // both
  std::vector<PackedLayer> m_layers;
  PackedMatrix m_output;
  std::vector<float> m_outputNorm;
  WeightView m_embedding;
  std::string m_slowFormats;
  bool m_wasRead = false;
  std::unique_ptr<PackedCache> m_cache;  // null = nothing is kept; goes before the arena it reads
};

}  // namespace kernels::cpu
