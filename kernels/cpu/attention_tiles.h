// Attention's products by tile registers: 16 rows by 16 tokens or by 16 elements of a head at once;
// included by attention files only.
//
// A tile product adds the even and the odd elements of 32 (or, of weights, 16) in two chains from
// zero and both to the sum, and takes subnormal numbers for zero. The groups lie at absolute
// positions, so a row's sums do not depend on the rows beside it.
#pragma once

#if defined(__AVX512BF16__)

#include "kernels/cpu/attention_pairs_avx512.h"
#include "kernels/cpu/tile_config.h"

namespace kernels::cpu {

namespace {

template <typename Registers>
struct AttentionTiles {
  static constexpr int kRows = 16, kDepth = 32;  // bf16 elements of a tile's row
  static constexpr int kMaxSums = 4;             // tiles 0 to 3
  static constexpr int kQueries = 4, kKeys = 5, kWeights = 6, kValues = 7;
  // A step is dim / 8 + dim / 4 products, and 4 dim lines.
  static constexpr int kLinesPerProduct = 11;

  // Holds the registers, and has all arithmetic take subnormal numbers for zero: whether a sum that
  // has become one meets a tile product next must not show.
  class Session : FlushSubnormals {
   public:
    // numRows: of the item; fewer than 16 are less work.
    explicit Session(int numRows) {
      const int rows = numRows < kRows ? numRows : kRows;
      TileConfig config;
      const auto shape = [&config](int tile, int tileRows, int columnBytes) {
        config.rows[tile] = static_cast<std::uint8_t>(tileRows);
        config.columnBytes[tile] = static_cast<std::uint16_t>(columnBytes);
      };
      for (int tile = 0; tile < kMaxSums; ++tile) shape(tile, rows, 64);
      shape(kQueries, rows, 2 * kDepth);
      shape(kKeys, kDepth / 2, 64);
      shape(kWeights, rows, 2 * kGroupTokens);
      shape(kValues, kGroupTokens / 2, 64);
      Registers::configure(config);
    }

    ~Session() { Registers::release(); }
  };

  // scores [rows, 64]; keys: the step's four groups, each [dim / 2][16 tokens][2]. Asks for lines
  // of `ahead` between the products, here and below.
  static void score(const std::uint16_t* const (&keys)[4],
                    const std::uint16_t* queries,
                    int dim,
                    float* scores,
                    FetchAhead& ahead) {
    zeroSums<0>();
    for (int d = 0; d < dim; d += kDepth) {
      Registers::template load<kQueries>(queries + d, 2 * dim);
      addScores<0>(keys, d, ahead);
    }
    storeSums<0, kMaxSums>(scores, 4 * kStepTokens);
  }

  // sums [rows, dim] += weights [rows, 64] . values, of groups [first, last], each [8][dim][2].
  static void accumulate(const std::uint16_t* const (&values)[4],
                         int first,
                         int last,
                         const std::uint16_t* weights,
                         int dim,
                         float* sums,
                         FetchAhead& ahead) {
    int d = 0;
    for (; d + kMaxSums * 16 <= dim; d += kMaxSums * 16) {
      accumulateColumns<kMaxSums>(values, first, last, weights, dim, d, sums + d, ahead);
    }
    if (d < dim) accumulateColumns<2>(values, first, last, weights, dim, d, sums + d, ahead);
  }

 private:
  template <int Tile>
  static inline __attribute__((always_inline)) void zeroSums() {
    Registers::template zero<Tile>();
    if constexpr (Tile + 1 < kMaxSums) zeroSums<Tile + 1>();
  }

  template <int Tile, int Count>
  static inline __attribute__((always_inline)) void loadSums(const float* from,
                                                             std::ptrdiff_t stride) {
    Registers::template load<Tile>(from + 16 * Tile, stride);
    if constexpr (Tile + 1 < Count) loadSums<Tile + 1, Count>(from, stride);
  }

  template <int Tile, int Count>
  static inline __attribute__((always_inline)) void storeSums(float* to, std::ptrdiff_t stride) {
    Registers::template store<Tile>(to + 16 * Tile, stride);
    if constexpr (Tile + 1 < Count) storeSums<Tile + 1, Count>(to, stride);
  }

  template <int Group>
  static inline __attribute__((always_inline)) void addScores(const std::uint16_t* const (&keys)[4],
                                                              int d,
                                                              FetchAhead& ahead) {
    Registers::template load<kKeys>(keys[Group] + d * kGroupTokens, 64);
    Registers::template addBf16Products<Group, kQueries, kKeys>();
    ahead.ask(kLinesPerProduct);
    if constexpr (Group + 1 < kMaxSums) addScores<Group + 1>(keys, d, ahead);
  }

  template <int Tile, int Count>
  static inline __attribute__((always_inline)) void addValues(const std::uint16_t* values,
                                                              std::ptrdiff_t stride,
                                                              FetchAhead& ahead) {
    Registers::template load<kValues>(values + 32 * Tile, stride);
    Registers::template addBf16Products<Tile, kWeights, kValues>();
    ahead.ask(kLinesPerProduct);
    if constexpr (Tile + 1 < Count) addValues<Tile + 1, Count>(values, stride, ahead);
  }

  template <int Count>
  static void accumulateColumns(const std::uint16_t* const (&values)[4],
                                int first,
                                int last,
                                const std::uint16_t* weights,
                                int dim,
                                int d,
                                float* sums,
                                FetchAhead& ahead) {
    loadSums<0, Count>(sums, 4 * dim);
    for (int group = first; group <= last; ++group) {
      Registers::template load<kWeights>(weights + group * kGroupTokens, 2 * kStepTokens);
      addValues<0, Count>(values[group] + 2 * d, 4 * dim, ahead);
    }
    storeSums<0, Count>(sums, 4 * dim);
  }
};

template <typename Registers>
struct Bf16TileForm : Bf16Form {
  using Tiles = AttentionTiles<Registers>;
  using Session = typename Tiles::Session;
};

// Heads that are no multiple of 32, and other cache types, are left to AVX-512.
template <typename Registers>
void attendByTiles(const AttentionItem& item, std::byte* scratch) {
  const bool fits = item.planes.type == KvType::BF16 && item.planes.headDim % 32 == 0;
  if (!fits) return kAvx512VnniAttention.attend(item, scratch);
  AttentionLoop<Bf16TileForm<Registers>>(item, scratch).run();
}

}  // namespace

}  // namespace kernels::cpu

#endif
