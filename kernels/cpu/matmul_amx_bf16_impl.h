// Products by tile registers of bf16, one recipe for any number of rows: inputs of up to 16 rows
// are one register, a group of 32 each; weights, unpacked to bf16 (pair_codes.h), another of 16
// columns; a product adds 16 rows by 16 columns. A result is a chain over the groups in order;
// within a group the even and the odd inputs are two chains from zero, whose sum is added. Rows
// that a register holds beside a row cost none of its bits.
//
// Unpacking is the larger part of a product with few rows, so that 16 rows cost little more than
// one; with many rows it is done once for all of them.
#pragma once

#include "kernels/cpu/pair_codes.h"
#include "kernels/cpu/tile_config.h"

namespace kernels::cpu {

namespace {

constexpr int kBlockRows = 16;
// Tiles 0 to 3 are sums: [first, second 16 columns] of one block of rows, then of the next.
constexpr int kWeightTile = 4, kInputTile = 6;
constexpr int kSumFloats = kBlockRows * kHalfTile;  // of one tile of sums
constexpr int kInputLine = 64;                      // bytes of a row's group

// Few rows: groups that are unpacked but perhaps not yet multiplied, while the next one is. The
// products of one and the unpacking of the next are done beside each other then.
constexpr int kRing = 4;
// Many rows: groups that are unpacked at a time, so few that the panel and the inputs it meets stay
// in L1; and blocks that meet a panel before the next one is unpacked: their inputs stay in L2.
constexpr int kManyRowsPiece = 9, kMaxBlocks = 32;
constexpr std::ptrdiff_t kMaxInputBytes = 1 << 20;

inline TileConfig tileConfig(int rows) {
  TileConfig config;
  for (int tile = 0; tile < 8; ++tile) {
    const bool isWeights = tile == kWeightTile || tile == kWeightTile + 1;
    config.rows[tile] = static_cast<std::uint8_t>(isWeights ? kNumPairs : rows);
    config.columnBytes[tile] = 64;
  }
  return config;
}

template <typename Tiles, CodeLayout C, ScaleLayout S>
class TileProduct {
 public:
  explicit TileProduct(const TileJob& job)
      : m_job(job),
        m_rowBytes(job.rowStride * kInputLine),
        m_numBlocks((job.numRows + kBlockRows - 1) / kBlockRows) {}

  void run() {
    Tiles::configure(tileConfig(m_numBlocks == 1 ? m_job.numRows : kBlockRows));
    if (m_numBlocks > 2) {
      multiplyManyRows();
    } else {
      for (int t = 0; t < m_job.numTiles; ++t) {
        if (m_numBlocks == 1) multiplyFewRows<1>(t);
        if (m_numBlocks == 2) multiplyFewRows<2>(t);
      }
    }
    Tiles::release();
  }

 private:
  ALWAYS_INLINE PairGroups<C, S> groupsOf(int t) const {
    const std::byte* tile = m_job.tiles + static_cast<std::size_t>(t) * m_job.tileBytes;
    return {tile, kHalfOverBf16 / kRoundedInputFactor / m_job.sumUnits[t]};
  }

  ALWAYS_INLINE const std::byte* inputs(int block, int group) const {
    return reinterpret_cast<const std::byte*>(m_job.rounded) + block * kBlockRows * m_rowBytes +
           group * kInputLine;
  }

  // Sums of one or two blocks += a group of weights times their inputs, first's and second's.
  template <int NumBlocks>
  ALWAYS_INLINE void addGroup(const std::byte* weights,
                              const std::byte* first,
                              const std::byte* second) const {
    Tiles::template load<kInputTile>(first, m_rowBytes);
    Tiles::template load<kWeightTile>(weights, kLineBytes);
    Tiles::template addBf16Products<0, kInputTile, kWeightTile>();
    Tiles::template load<kWeightTile + 1>(weights + kHalfPanelBytes, kLineBytes);
    Tiles::template addBf16Products<1, kInputTile, kWeightTile + 1>();
    if constexpr (NumBlocks == 2) {
      Tiles::template load<kInputTile + 1>(second, m_rowBytes);
      Tiles::template addBf16Products<2, kInputTile + 1, kWeightTile>();
      Tiles::template addBf16Products<3, kInputTile + 1, kWeightTile + 1>();
    }
  }

  template <int NumBlocks>
  void multiplyFewRows(int t) {
    PairGroups<C, S> groups = groupsOf(t);
    alignas(64) std::byte ring[kRing * kPanelGroupBytes];
    zeroSums<0, 2 * NumBlocks>();
    const std::byte* ready = groups.next(ring);
    for (int g = 1; g < m_job.numGroups; ++g) {
      const std::byte* next = groups.next(ring + g % kRing * kPanelGroupBytes);
      addGroup<NumBlocks>(ready, inputs(0, g - 1), inputs(1, g - 1));
      ready = next;
    }
    addGroup<NumBlocks>(ready, inputs(0, m_job.numGroups - 1), inputs(1, m_job.numGroups - 1));
    alignas(64) float sums[2 * NumBlocks * kSumFloats];
    storeSums<0, 2 * NumBlocks>(sums);
    for (int b = 0; b < NumBlocks; ++b) storeBlock(t, b, sums + b * 2 * kSumFloats);
  }

  // As many blocks at a time as L2 holds, in parts as even as can be.
  void multiplyManyRows() {
    std::ptrdiff_t most = kMaxInputBytes / (kBlockRows * m_rowBytes);
    most = most < 2 ? 2 : most > kMaxBlocks ? kMaxBlocks : most;
    const auto numParts = static_cast<int>((m_numBlocks + most - 1) / most);
    const int size = ((m_numBlocks + numParts - 1) / numParts + 1) / 2 * 2;
    for (int first = 0; first < m_numBlocks; first += size) {
      const int count = m_numBlocks - first < size ? m_numBlocks - first : size;
      for (int t = 0; t < m_job.numTiles; ++t) multiplyBlocks(t, first, count);
    }
  }

  void multiplyBlocks(int t, int firstBlock, int numBlocks) {
    PairGroups<C, S> groups = groupsOf(t);
    alignas(64) std::byte panel[kManyRowsPiece * kPanelGroupBytes];
    const int numPieces = (m_job.numGroups + kManyRowsPiece - 1) / kManyRowsPiece;
    const int size = (m_job.numGroups + numPieces - 1) / numPieces;
    for (int g = 0; g < m_job.numGroups; g += size) {
      const int left = m_job.numGroups - g, count = left < size ? left : size;
      const Piece piece{unpackPiece(groups, count, panel), g, count};
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

  // Where the groups lie now: in `panel`, but bf16 weights where they were.
  ALWAYS_INLINE const std::byte* unpackPiece(PairGroups<C, S>& groups,
                                             int numGroups,
                                             std::byte* panel) const {
    const std::byte* first = groups.next(panel);
    for (int i = 1; i < numGroups; ++i) groups.next(panel + i * kPanelGroupBytes);
    return first;
  }

  struct Piece {
    const std::byte* weights;
    int firstGroup, numGroups;
  };

  // sums: of the groups before, unless this is the first piece; and with this one's afterwards.
  template <int NumBlocks>
  ALWAYS_INLINE void addPiece(const Piece& piece, int block, float* sums) const {
    if (piece.firstGroup == 0) {
      zeroSums<0, 2 * NumBlocks>();
    } else {
      loadSums<0, 2 * NumBlocks>(sums);
    }
    const std::byte* first = inputs(block, piece.firstGroup);
    const std::byte* second = first + kBlockRows * m_rowBytes;
    const std::byte* weights = piece.weights;
    for (int i = 0; i < piece.numGroups; ++i, weights += kPanelGroupBytes) {
      addGroup<NumBlocks>(weights, first + i * kInputLine, second + i * kInputLine);
    }
    storeSums<0, 2 * NumBlocks>(sums);
  }

  template <int Tile, int Count>
  ALWAYS_INLINE void zeroSums() const {
    Tiles::template zero<Tile>();
    if constexpr (Tile + 1 < Count) zeroSums<Tile + 1, Count>();
  }

  template <int Tile, int Count>
  ALWAYS_INLINE void loadSums(const float* sums) const {
    Tiles::template load<Tile>(sums + Tile * kSumFloats, kHalfTile * 4);
    if constexpr (Tile + 1 < Count) loadSums<Tile + 1, Count>(sums);
  }

  template <int Tile, int Count>
  ALWAYS_INLINE void storeSums(float* sums) const {
    Tiles::template store<Tile>(sums + Tile * kSumFloats, kHalfTile * 4);
    if constexpr (Tile + 1 < Count) storeSums<Tile + 1, Count>(sums);
  }

  // Those rows of a block that there are; sums: both its tiles, [rows][16 columns].
  void storeBlock(int t, int block, const float* sums) const {
    const int left = m_job.numRows - block * kBlockRows;
    const int numRows = left < kBlockRows ? left : kBlockRows;
    const __m512 unit = _mm512_set1_ps(m_job.sumUnits[t]);
    const Output out = outputOf(m_job, t, block * kBlockRows);
    for (int row = 0; row < numRows; ++row) {
      for (int j = 0; j < 2; ++j) {
        const __m512 sum = _mm512_load_ps(sums + j * kSumFloats + row * kHalfTile);
        _mm512_mask_storeu_ps(out.at + row * out.ld + 16 * j, out.mask[j],
                              _mm512_mul_ps(sum, unit));
      }
    }
  }

  const TileJob& m_job;
  std::ptrdiff_t m_rowBytes;
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
