// Rows of logits: the output matrix times quantised rows, and what stands between it and whoever
// samples.
#pragma once

#include <atomic>
#include <cstddef>
#include <vector>

#include "kernels/core/ops.h"
#include "kernels/cpu/matmul.h"
#include "kernels/cpu/packed_matrix.h"
#include "kernels/cpu/product_cut.h"
#include "kernels/cpu/row_kernels.h"
#include "kernels/cpu/thread_pool.h"

namespace kernels::cpu {

struct OutputJob {
  const PackedMatrix* matrix = nullptr;
  // [numRows] rows; where hasRemainders, another [numRows] follow: what their rounding left over.
  const QuantizedRows* inputs = nullptr;
  int numRows = 0;
  bool hasRemainders = false;
  float softCap = 0.0f;  // 0: none
  float* out = nullptr;  // [numRows, matrix->numColumns()]
  const LogitsWatch* watch = nullptr;
  const std::atomic<bool>* cancel = nullptr;  // may be null; once set, `out` is undefined
};

// Int8 rows alone give every logit; tiles with one within kRefinedNats of their row's largest are
// computed again with the remainders: the tokens likely to be drawn have the precision of two
// products, and a row of 150,000 columns the price of one. A row's bits depend on the row only.
// Belongs to one thread, which shares the work out.
class OutputProduct {
 public:
  // KLD to f32 arithmetic, 768 positions of SmolLM2-135M Q4_1 and of gemma-3-270m, and tiles a row
  // of 1,536 and of 8,192:  0: .00206, .00149, 1, 1;  4: .00152, .00122, 16, 14;
  // 6: .00142, .00115, 57, 51;  8: .00136, .00112, 167, 154;  all: .00133, .00110. With 6 one
  // token of gemma's goldens stayed coarse, .065 off.
  static constexpr float kRefinedNats = 8.0f;

  // All must outlive it.
  OutputProduct(const Matmul& matmul, const RowKernels& rows, ThreadPool& pool)
      : m_matmul(matmul), m_rows(rows), m_pool(pool) {}

  void run(const OutputJob& job);

 private:
  void multiplyRun(const OutputJob& job, const MatmulRange& range);
  void findLimits(int numRows);
  void refineRun(const OutputJob& job, int run, int row);
  void refineTile(const OutputJob& job, int tile, int row, float* columns);
  void tell(const OutputJob& job, int run, int row) const;

  const Matmul& m_matmul;
  const RowKernels& m_rows;
  ThreadPool& m_pool;
  int m_numRuns = 0;
  std::vector<float> m_largest;  // [runs, rows]
  std::vector<float> m_limits;   // [rows]: tiles that reach it are refined
};

}  // namespace kernels::cpu
