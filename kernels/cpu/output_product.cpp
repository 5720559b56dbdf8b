#include "kernels/cpu/output_product.h"

#include <algorithm>
#include <limits>

#include "kernels/core/kv_codec.h"
#include "kernels/cpu/tile_layout.h"

namespace kernels::cpu {

namespace {

constexpr int kRunTiles = kLogitsRun / kTileColumns;
constexpr int kMaxRows = 256;

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

bool isCancelled(const OutputJob& job) {
  return job.cancel && job.cancel->load(std::memory_order_relaxed);
}

int columnsOfRun(const OutputJob& job, int run) {
  return std::min(kLogitsRun, job.matrix->numColumns() - run * kLogitsRun);
}

float* runOf(const OutputJob& job, int run, int row) {
  return job.out + static_cast<std::ptrdiff_t>(row) * job.matrix->numColumns() + run * kLogitsRun;
}

}  // namespace

void OutputProduct::run(const OutputJob& job) {
  const PackedMatrix& matrix = *job.matrix;
  m_numRuns = (matrix.numTiles() + kRunTiles - 1) / kRunTiles;
  m_largest.resize(at(m_numRuns) * at(job.numRows));
  const ProductCut cut = cutProduct(m_pool.numThreads(), job.numRows, m_numRuns,
                                    kRunTiles * matrix.numInputs(), kMaxRows);
  m_pool.run(cut.numItems(), [&](int item, int) {
    MatmulRange range = cut.range(item);
    const int endRun = range.tileEnd;
    for (int run = range.tileBegin; run < endRun && !isCancelled(job); ++run) {
      range.tileBegin = run * kRunTiles;
      range.tileEnd = std::min(range.tileBegin + kRunTiles, matrix.numTiles());
      multiplyRun(job, range);
    }
  });
  // plain weights are multiplied with the f32 rows themselves: nothing is left over
  if (!job.hasRemainders || isPlainFloat(matrix.partOfTile(0).layout) || isCancelled(job)) return;
  findLimits(job.numRows);
  m_pool.runRanges(m_numRuns, 1, [&](int begin, int end, int) {
    for (int run = begin; run < end && !isCancelled(job); ++run) {
      for (int row = 0; row < job.numRows; ++row) {
        if (m_largest[at(run) * at(job.numRows) + at(row)] >= m_limits[at(row)]) {
          refineRun(job, run, row);
        }
      }
    }
  });
}

// One run of columns of some rows.
void OutputProduct::multiplyRun(const OutputJob& job, const MatmulRange& range) {
  const int run = range.tileBegin / kRunTiles, count = columnsOfRun(job, run);
  m_matmul.multiplyTiles(*job.matrix, *job.inputs, range, runOf(job, run, range.rowBegin),
                         job.matrix->numColumns());
  for (int row = range.rowBegin; row < range.rowEnd; ++row) {
    float* columns = runOf(job, run, row);
    if (job.softCap != 0.0f) m_rows.softCap(columns, job.softCap, count);
    m_largest[at(run) * at(job.numRows) + at(row)] = largestOf(columns, count, 1.0f);
    tell(job, run, row);
  }
}

void OutputProduct::findLimits(int numRows) {
  m_limits.assign(at(numRows), -std::numeric_limits<float>::infinity());
  for (int run = 0; run < m_numRuns; ++run) {
    const float* largest = m_largest.data() + static_cast<std::ptrdiff_t>(run) * numRows;
    for (int row = 0; row < numRows; ++row) {
      m_limits[at(row)] = std::max(m_limits[at(row)], largest[row]);
    }
  }
  for (float& limit : m_limits) limit -= kRefinedNats;
}

void OutputProduct::refineRun(const OutputJob& job, int run, int row) {
  const PackedMatrix& matrix = *job.matrix;
  const int endTile = std::min((run + 1) * kRunTiles, matrix.numTiles());
  for (int tile = run * kRunTiles; tile < endTile; ++tile) {
    float* columns = runOf(job, run, row) + (matrix.firstColumnOfTile(tile) - run * kLogitsRun);
    if (largestOf(columns, matrix.numColumnsOfTile(tile), 1.0f) >= m_limits[at(row)]) {
      refineTile(job, tile, row, columns);
    }
  }
  tell(job, run, row);
}

void OutputProduct::refineTile(const OutputJob& job, int tile, int row, float* columns) {
  const int count = job.matrix->numColumnsOfTile(tile);
  float rest[kTileColumns];
  const auto multiply = [&](int input, float* out) {
    m_matmul.multiplyTiles(*job.matrix, *job.inputs, {input, input + 1, tile, tile + 1}, out,
                           kTileColumns);
  };
  if (job.softCap != 0.0f) multiply(row, columns);  // as it was before the cap
  multiply(job.numRows + row, rest);
  m_rows.add(columns, rest, count);
  if (job.softCap != 0.0f) m_rows.softCap(columns, job.softCap, count);
}

void OutputProduct::tell(const OutputJob& job, int run, int row) const {
  if (*job.watch) (*job.watch)(row, run, runOf(job, run, row), columnsOfRun(job, run));
}

}  // namespace kernels::cpu
