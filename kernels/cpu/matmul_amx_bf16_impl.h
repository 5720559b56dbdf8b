// Products by tile registers of bf16, one recipe for any number of rows: weights are unpacked to
// bf16 (see column_codes.h), 16 columns a register; 32 inputs of 16 rows are another; a product
// adds 16 columns by 16 rows. A result is a chain over the groups of 32 inputs in order; within a
// group the even and the odd inputs are two chains from zero, whose sum is added. Columns of rows
// that a register does not hold cost no bits of the others.
//
// Unpacking is the larger part of a product with few rows, so that 16 rows cost little more than
// one; with many rows it is done once for all of them.
#pragma once

#include "kernels/cpu/column_codes.h"
#include "kernels/cpu/tile_config.h"

namespace kernels::cpu {

namespace {

constexpr int kBlockRows = 16;
// Tiles 0 to 3 are sums: [first, second 16 columns] of one block of rows, then of the next.
constexpr int kWeightTile = 4, kInputTile = 6;
constexpr int kSumFloats = 16 * kBlockRows;  // of one tile of sums, [columns][rows]

// Groups that are unpacked at a time: so few that the panel and the inputs it meets stay in L1.
constexpr int kFewRowsPiece = 6, kManyRowsPiece = 9;

// Blocks of rows that meet a panel before the next one is unpacked: their inputs stay in L2.
constexpr int kMaxBlocks = 32;
constexpr std::ptrdiff_t kMaxInputBytes = 1 << 20;

// rows: of a block.
inline TileConfig tileConfig(int rows) {
  TileConfig config;
  for (int tile = 0; tile < 8; ++tile) {
    config.rows[tile] = 16;
    config.columnBytes[tile] = static_cast<std::uint16_t>(4 * rows);
  }
  config.columnBytes[kWeightTile] = config.columnBytes[kWeightTile + 1] = 64;
  return config;
}

ALWAYS_INLINE void transpose16(__m512 (&v)[16]) {
  __m512 pairs[16];
  for (int i = 0; i < 16; i += 2) {
    pairs[i] = _mm512_unpacklo_ps(v[i], v[i + 1]);
    pairs[i + 1] = _mm512_unpackhi_ps(v[i], v[i + 1]);
  }
  __m512 fours[16];
  for (int i = 0; i < 16; i += 4) {
    for (int half = 0; half < 2; ++half) {
      const __m512d low = _mm512_castps_pd(pairs[i + half]);
      const __m512d high = _mm512_castps_pd(pairs[i + half + 2]);
      fours[i + 2 * half] = _mm512_castpd_ps(_mm512_unpacklo_pd(low, high));
      fours[i + 2 * half + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(low, high));
    }
  }
  for (int i = 0; i < 4; ++i) {
    const __m512 a = _mm512_shuffle_f32x4(fours[i], fours[i + 4], 0x88);
    const __m512 b = _mm512_shuffle_f32x4(fours[i], fours[i + 4], 0xDD);
    const __m512 c = _mm512_shuffle_f32x4(fours[i + 8], fours[i + 12], 0x88);
    const __m512 d = _mm512_shuffle_f32x4(fours[i + 8], fours[i + 12], 0xDD);
    v[i] = _mm512_shuffle_f32x4(a, c, 0x88);
    v[i + 4] = _mm512_shuffle_f32x4(b, d, 0x88);
    v[i + 8] = _mm512_shuffle_f32x4(a, c, 0xDD);
    v[i + 12] = _mm512_shuffle_f32x4(b, d, 0xDD);
  }
}

template <typename Tiles, CodeLayout C, ScaleLayout S>
class TileProduct {
 public:
  explicit TileProduct(const TileJob& job)
      : m_job(job),
        m_inputBytes(std::ptrdiff_t{4} * job.rowsPerBlock),
        m_blockBytes(std::ptrdiff_t{2} * job.numGroups * kGroupSize * job.rowsPerBlock),
        m_numBlocks((job.rowInBlock + job.numRows + job.rowsPerBlock - 1) / job.rowsPerBlock) {}

  void run() {
    Tiles::configure(tileConfig(m_job.rowsPerBlock));
    if (m_numBlocks == 1) {
      for (int t = 0; t < m_job.numTiles; ++t) multiplyFewRows(t);
    } else {
      multiplyManyRows();
    }
    Tiles::release();
  }

 private:
  const std::byte* tileAt(int t) const {
    return m_job.tiles + static_cast<std::size_t>(t) * m_job.tileBytes;
  }

  const std::byte* inputs(int block, int group) const {
    return reinterpret_cast<const std::byte*>(m_job.pairs) + block * m_blockBytes +
           group * (m_inputBytes * kBlockRows);
  }

  template <int Tile>
  ALWAYS_INLINE void loadInputs(const std::byte* from) const {
    Tiles::template load<Tile>(from, m_inputBytes);
  }

  // Sum tiles First and First + 1 += a group of weights, loaded here, times a block's inputs,
  // loaded before.
  ALWAYS_INLINE void addFirstBlock(const std::byte* weights) const {
    Tiles::template load<kWeightTile>(weights, kLineBytes);
    Tiles::template addBf16Products<0, kWeightTile, kInputTile>();
    Tiles::template load<kWeightTile + 1>(weights + 16 * kLineBytes, kLineBytes);
    Tiles::template addBf16Products<1, kWeightTile + 1, kInputTile>();
  }

  ALWAYS_INLINE void addSecondBlock() const {
    Tiles::template addBf16Products<2, kWeightTile, kInputTile + 1>();
    Tiles::template addBf16Products<3, kWeightTile + 1, kInputTile + 1>();
  }

  void multiplyFewRows(int t) {
    ColumnGroups<C, S> groups(tileAt(t));
    alignas(64) std::byte panel[kFewRowsPiece * kPanelGroupBytes];
    Tiles::template zero<0>();
    Tiles::template zero<1>();
    for (int g = 0; g < m_job.numGroups; g += kFewRowsPiece) {
      const int left = m_job.numGroups - g, count = left < kFewRowsPiece ? left : kFewRowsPiece;
      const std::byte* weights = groups.next(count, panel);
      for (int i = 0; i < count; ++i) {
        loadInputs<kInputTile>(inputs(0, g + i));
        addFirstBlock(weights + i * kPanelGroupBytes);
      }
    }
    alignas(64) float sums[2 * kSumFloats];
    if (m_job.rowsPerBlock > 1) {
      Tiles::template store<0>(sums, 64);
      Tiles::template store<1>(sums + kSumFloats, 64);
      return storeBlock(t, 0, sums);
    }
    Tiles::template store<0>(sums, 4);
    Tiles::template store<1>(sums + 16, 4);
    const Output out = outputOf(m_job, t, 0);
    for (int j = 0; j < 2; ++j) {
      _mm512_mask_storeu_ps(out.at + 16 * j, out.mask[j], _mm512_load_ps(sums + 16 * j));
    }
  }

  // As many blocks at a time as L2 holds, in parts as even as can be.
  void multiplyManyRows() {
    std::ptrdiff_t most = kMaxInputBytes / m_blockBytes;
    most = most < 2 ? 2 : most > kMaxBlocks ? kMaxBlocks : most;
    const auto numParts = static_cast<int>((m_numBlocks + most - 1) / most);
    const int size = ((m_numBlocks + numParts - 1) / numParts + 1) / 2 * 2;
    for (int first = 0; first < m_numBlocks; first += size) {
      const int count = m_numBlocks - first < size ? m_numBlocks - first : size;
      for (int t = 0; t < m_job.numTiles; ++t) multiplyBlocks(t, first, count);
    }
  }

  void multiplyBlocks(int t, int firstBlock, int numBlocks) {
    ColumnGroups<C, S> groups(tileAt(t));
    alignas(64) std::byte panel[kManyRowsPiece * kPanelGroupBytes];
    const int numPieces = (m_job.numGroups + kManyRowsPiece - 1) / kManyRowsPiece;
    const int size = (m_job.numGroups + numPieces - 1) / numPieces;
    for (int g = 0; g < m_job.numGroups; g += size) {
      const int left = m_job.numGroups - g, count = left < size ? left : size;
      const Piece piece{groups.next(count, panel), g, count};
      for (int b = 0; b < numBlocks; b += 2) {
        float* sums = m_sums + b * 2 * kSumFloats;
        if (b + 1 < numBlocks) {
          addPiece<2>(piece, firstBlock + b, sums);
        } else {
          addPiece<1>(piece, firstBlock + b, sums);
        }
        if (g + count < m_job.numGroups) continue;
        storeBlock(t, firstBlock + b, sums);
        if (b + 1 < numBlocks) storeBlock(t, firstBlock + b + 1, sums + 2 * kSumFloats);
      }
    }
  }

  struct Piece {
    const std::byte* weights;
    int firstGroup, numGroups;
  };

  // sums: of the groups before, unless this is the first piece; and with this one's afterwards.
  template <int NumBlocks>
  ALWAYS_INLINE void addPiece(const Piece& piece, int block, float* sums) const {
    startSums<0, 2 * NumBlocks>(piece, sums);
    const std::byte* first = inputs(block, piece.firstGroup);
    const std::byte* weights = piece.weights;
    for (int i = 0; i < piece.numGroups; ++i) {
      loadInputs<kInputTile>(first);
      addFirstBlock(weights);
      if constexpr (NumBlocks == 2) {
        loadInputs<kInputTile + 1>(first + m_blockBytes);
        addSecondBlock();
      }
      first += m_inputBytes * kBlockRows;
      weights += kPanelGroupBytes;
    }
    storeSums<0, 2 * NumBlocks>(sums);
  }

  template <int Tile, int Count>
  ALWAYS_INLINE void startSums(const Piece& piece, const float* sums) const {
    if (piece.firstGroup == 0) {
      Tiles::template zero<Tile>();
    } else {
      Tiles::template load<Tile>(sums + Tile * kSumFloats, 64);
    }
    if constexpr (Tile + 1 < Count) startSums<Tile + 1, Count>(piece, sums);
  }

  template <int Tile, int Count>
  ALWAYS_INLINE void storeSums(float* sums) const {
    Tiles::template store<Tile>(sums + Tile * kSumFloats, 64);
    if constexpr (Tile + 1 < Count) storeSums<Tile + 1, Count>(sums);
  }

  // Those rows of a block that are wanted; sums: both its tiles, a column's rows in 64 bytes.
  void storeBlock(int t, int block, const float* sums) const {
    const int start = block * m_job.rowsPerBlock - m_job.rowInBlock;  // the row that comes first
    const int begin = start < 0 ? -start : 0;
    const int left = m_job.numRows - start;
    const int end = left < m_job.rowsPerBlock ? left : m_job.rowsPerBlock;
    const Output out = outputOf(m_job, t, 0);
    for (int j = 0; j < 2; ++j) {
      __m512 v[16];
      for (int i = 0; i < 16; ++i) v[i] = _mm512_load_ps(sums + j * kSumFloats + 16 * i);
      transpose16(v);
      for (int i = 0; i < 16; ++i) {
        if (i < begin || i >= end) continue;
        _mm512_mask_storeu_ps(out.at + 16 * j + (start + i) * out.ld, out.mask[j], v[i]);
      }
    }
  }

  const TileJob& m_job;
  std::ptrdiff_t m_inputBytes, m_blockBytes;  // from one pair to the next; from block to block
  int m_numBlocks;
  alignas(64) float m_sums[kMaxBlocks * 2 * kSumFloats];
};

template <typename Tiles>
void multiplyRoundedByTiles(const TileJob& job) {
  if (job.layout.codes == CodeLayout::BF16) {
    return TileProduct<Tiles, CodeLayout::BF16, ScaleLayout::None>(job).run();
  }
  dispatchQuantized(job.layout, [&job](auto codes, auto scales) {
    TileProduct<Tiles, decltype(codes)::value, decltype(scales)::value>(job).run();
  });
}

}  // namespace

}  // namespace kernels::cpu
