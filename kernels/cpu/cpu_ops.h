// The decoder on packed weights and vector kernels, spread over a thread pool.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/core/ops.h"
#include "kernels/cpu/activations.h"
#include "kernels/cpu/attention_plan.h"
#include "kernels/cpu/kv_pool.h"
#include "kernels/cpu/matmul.h"
#include "kernels/cpu/output_product.h"
#include "kernels/cpu/packed_decoder.h"
#include "kernels/cpu/product_cut.h"
#include "kernels/cpu/row_kernels.h"
#include "kernels/cpu/thread_pool.h"

namespace kernels::cpu {

// Engine thread only. A layer is four jobs for the threads, of stages that wait for each other:
// norm, then qkv with rope and cache write; attention; its rows, then the output projection; norm,
// gate and up with activation, down. The last update of the residual stream is added only when the
// next norm reads it.
class CpuOps final : public Ops {
 public:
  CpuOps(const BackendRequest& request, Isa isa);
  // Packs weights and reserves memory; to be called once, before anything else.
  Status load(const BackendRequest& request);

  BackendInfo info() const override;
  Status embed(const RaggedBatch& batch) override;
  Status qkv(int layer, const RaggedBatch& batch) override;
  Status attend(int layer, const RaggedBatch& batch) override;
  Status project(int layer, const RaggedBatch& batch) override;
  Status mlp(int layer, const RaggedBatch& batch) override;
  Status logits(const RaggedBatch& batch,
                int first,
                int count,
                float* out,
                const LogitsWatch& watch) override;
  void copyBlocks(std::span<const BlockCopy> copies) override;
  void readBlock(std::int32_t block, std::byte* out) const override;
  void writeBlock(std::int32_t block, const std::byte* in) override;

  void shareOut(int count, const std::function<void(int item, int thread)>& fn) override {
    m_pool.run(count, fn);
  }

  const KvLayout& layout() const override { return m_kv.layout(); }

  OpsCounters takeCounters() override;

 private:
  // A head's vector on its way from the product to the query buffer or the cache.
  struct HeadPlace {
    int layer = 0, part = 0, head = 0, row = 0, thread = 0;
  };

  template <typename Fn>
  void forRows(int numRows, int width, const Fn& fn);
  void addUpdate(int row, int thread);
  // How a product's int8 input rows are held: alone, or with what their rounding left over, as two
  // rows of one product whose results are added: about 15 bits. Rows of bf16 are held alone.
  // Measured on SmolLM2-135M Q4_1, 3 chunks of 512 tokens against f32: KLD 0.0036 with Coarse
  // everywhere, 0.0022 with a Fine output matrix (output_product.h), 0.0014 with Fine attention
  // inputs besides; the MLP has the largest products and hurts least. Coarse attention inputs would
  // save a tenth of the time of many rows, but flipped a greedy token of the goldens that float32
  // decides by 0.80.
  enum class Precision : std::uint8_t { Coarse, Fine };

  // Input rows for each row.
  int heldRows(Precision precision) const {
    return precision == Precision::Fine && m_matmul.rowForm() == RowForm::Int8 ? 2 : 1;
  }

  struct InputPlace {
    int row = 0, rest = -1;  // rest: of what rounding left over
  };

  // Rows [begin, end) of a piece of them.
  struct RowCut {
    int numRows = 0, rowsPerItem = 1;

    int numItems() const { return (numRows + rowsPerItem - 1) / rowsPerItem; }

    int begin(int item) const { return item * rowsPerItem; }

    int end(int item) const { return std::min(begin(item) + rowsPerItem, numRows); }
  };

  RowCut cutRows(int numRows, int width) const;
  void normInto(const float* x, const std::vector<float>& weight, InputPlace place, int thread);
  void prepareInput(int row, const std::vector<float>& norm, Precision precision, int thread);
  void quantizeAttended(int row);
  void multiplyFine(const PackedMatrix& matrix,
                    const MatmulRange& range,
                    int width,
                    float* columns);
  ProductCut cutUpdate(const PackedMatrix& matrix, int numRows) const;
  void multiplyInto(const PackedMatrix& matrix, const QuantizedRows& rows, const MatmulRange& range);
  void runQkvPart(
      int layer, const RaggedBatch& batch, int part, int item, const ProductCut& cut, int thread);
  void finishHeads(const RaggedBatch& batch, HeadPlace place, int numHeads, float* columns);
  void storeHead(const RaggedBatch& batch, const HeadPlace& place, float* values);
  const void* toElements(const float* values, std::byte* scratch) const;
  void runGateUp(const PackedLayer& layer, const MatmulRange& range, int thread);

  DecoderSpec m_spec;
  Isa m_isa;
  Matmul m_matmul;
  const RowKernels& m_rows;
  const AttentionKernels& m_attention;
  ThreadPool m_pool;
  OutputProduct m_output;
  PackedDecoder m_weights;
  KvPool m_kv;
  Activations m_act;
  AttentionPlan m_plan;
  int m_maxBatchedTokens;
  bool m_hasUpdate = false;                          // m_act.update waits to be added
  const std::vector<float>* m_updateNorm = nullptr;  // through this norm, unless empty
  OpsCounters m_counters;
};

}  // namespace kernels::cpu
