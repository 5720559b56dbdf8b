// Products of many rows by tile registers: 16 rows by 16 columns at once. A tile register makes the
// same exact integer sums as the dot instructions of AVX-512, so the results are the same, bit for
// bit; only the work differs: what is left to do for every sum takes longer than the sum itself.
#pragma once

#include "kernels/cpu/tile_avx512.h"
#include "kernels/cpu/tile_config.h"

namespace kernels::cpu {

namespace {

constexpr int kBlockRows = 16;
constexpr int kInputTile = 0, kWeightTile = 1;
constexpr int kFirstSumTile = 2, kSecondSumTile = 3;

// The groups of a block's rows that are multiplied next: every fourth row has a pointer, the others
// lie at offsets that are the same for all four.
template <int Rows>
class GroupCursor {
 public:
  ALWAYS_INLINE GroupCursor(const QuantizedGroup* first, std::ptrdiff_t rowStride)
      : m_stride(rowStride * std::ptrdiff_t{sizeof(QuantizedGroup)}), m_threeStrides(3 * m_stride) {
    for (int i = 0; i < Rows / 4; ++i) {
      m_rows[i] = reinterpret_cast<const std::byte*>(first + 4 * i * rowStride);
    }
  }

  ALWAYS_INLINE const QuantizedGroup& row(int r) const {
    const std::byte* row = m_rows[r / 4];
    const std::ptrdiff_t offset = r % 4 == 3 ? m_threeStrides : r % 4 * m_stride;
    return *reinterpret_cast<const QuantizedGroup*>(row + offset);
  }

  // Values of the first row, `groups` further on.
  ALWAYS_INLINE const std::byte* values(int groups) const {
    return m_rows[0] + groups * std::ptrdiff_t{sizeof(QuantizedGroup)};
  }

  ALWAYS_INLINE std::ptrdiff_t stride() const { return m_stride; }

  ALWAYS_INLINE void next() {
    for (int i = 0; i < Rows / 4; ++i) {
      m_rows[i] += sizeof(QuantizedGroup);
      __asm__("" : "+r"(m_rows[i]));  // else every row would get a pointer of its own
    }
  }

 private:
  const std::byte* m_rows[Rows / 4];
  std::ptrdiff_t m_stride, m_threeStrides;
};

// scale * sum of the values of row r that half h covers; see matmul_avx512vnni.cpp
template <int NumHalves>
ALWAYS_INLINE __m512 scaledSumOf(const QuantizedGroup& group, int h) {
  if constexpr (NumHalves == 1) return _mm512_set1_ps(group.scaledSum);
  const float sum = static_cast<float>(kSumBias - group.start32[h]) * (1.0f / 32.0f);
  return _mm512_set1_ps(group.scale * sum);
}

// One block of rows by one half of a tile's columns.
struct BlockPlace {
  int firstRow = 0, columnHalf = 0;
};

// The groups [firstGroup, firstGroup + numGroups) of one tile, unpacked, times all rows of a job.
template <typename Tiles, int NumHalves, bool HasMin>
class PieceProduct {
 public:
  using PanelType = Panel<NumHalves, HasMin>;

  ALWAYS_INLINE PieceProduct(
      const TileJob& job, int tile, const PanelType& panel, int firstGroup, int numGroups)
      : m_job(job),
        m_panel(panel),
        m_tile(tile),
        m_firstGroup(firstGroup),
        m_numUnits(numGroups * NumHalves) {}

  // Not inlined: many layouts share it once their panel is unpacked.
  [[gnu::noinline]] void run() {
    BlockPlace place;
    begin(place);
    for (; place.firstRow < m_job.numRows; place.firstRow += kBlockRows) {
      const int left = m_job.numRows - place.firstRow;
      for (place.columnHalf = 0; place.columnHalf < 2; ++place.columnHalf) {
        if (left > 8) {
          multiplyBlock<16>(place);
        } else if (left > 4) {
          multiplyBlock<8>(place);
        } else {
          multiplyBlock<4>(place);
        }
      }
    }
  }

 private:
  const QuantizedGroup* inputs(const BlockPlace& place) const {
    return m_job.groups + place.firstRow * m_job.rowStride + m_firstGroup;
  }

  // The block after this one; after the last one, that one again: its products are never used.
  BlockPlace after(const BlockPlace& place) const {
    if (place.columnHalf == 0) return {place.firstRow, 1};
    const bool isLast = place.firstRow + kBlockRows >= m_job.numRows;
    return isLast ? place : BlockPlace{place.firstRow + kBlockRows, 0};
  }

  const std::byte* codes(const BlockPlace& place) const {
    return m_panel.codes + 64 * place.columnHalf;
  }

  // values: of the first row; codes: of the column half; both of one unit.
  template <int SumTile>
  static ALWAYS_INLINE void multiply(const void* values, std::ptrdiff_t stride, const void* codes) {
    Tiles::template load<kInputTile>(values, stride);
    Tiles::template load<kWeightTile>(codes, kStepBytes);
    Tiles::template zero<SumTile>();
    Tiles::template addProducts<SumTile, kInputTile, kWeightTile>();
  }

  template <int SumTile>
  ALWAYS_INLINE void multiply(const BlockPlace& place, int unit) const {
    const std::int8_t* values =
        inputs(place)[unit / NumHalves].values + unit % NumHalves * kUnitInputs;
    multiply<SumTile>(values, m_job.rowStride * std::ptrdiff_t{sizeof(QuantizedGroup)},
                      codes(place) + unit * kUnitCodeBytes);
  }

  // Unit 0 is stored and unit 1 under way.
  ALWAYS_INLINE void begin(const BlockPlace& place) {
    multiply<kFirstSumTile>(place, 0);
    Tiles::template store<kFirstSumTile>(m_sums[0], kSumStride);
    if (m_numUnits > 1) multiply<kSecondSumTile>(place, 1);
  }

  // Three units are under way at a time: the product of one is made while that of the one before is
  // stored and the sums before that are scaled. It begins and ends as begin() leaves things, so the
  // next block's first products are made beside the last scaling of this one.
  template <int Rows>
  ALWAYS_INLINE void multiplyBlock(const BlockPlace& place) {
    const Output out = outputOf(m_job, m_tile, place.firstRow);
    const __mmask16 mask = out.mask[place.columnHalf];
    float* to = out.at + 16 * place.columnHalf;
    const int left = m_job.numRows - place.firstRow, numRows = left < Rows ? left : Rows;
    __m512 y[Rows];
    for (int r = 0; r < Rows; ++r) {
      const bool isKept = m_firstGroup > 0 && r < numRows;
      y[r] = _mm512_maskz_loadu_ps(isKept ? mask : 0, to + r * out.ld);
    }
    addUnits<Rows>(place, y);
    for (int r = 0; r < Rows; ++r) {
      _mm512_mask_storeu_ps(to + r * out.ld, r < numRows ? mask : 0, y[r]);
    }
  }

  template <int Rows>
  ALWAYS_INLINE void addUnits(const BlockPlace& place, __m512 (&y)[Rows]) {
    const BlockPlace next = after(place);
    GroupCursor<Rows> rows(inputs(place), m_job.rowStride);
    const std::byte* half = codes(place);
    // The registers that addresses need are just as many as there are.
    const std::byte* const lastPair = half + (m_numUnits - 3) * kUnitCodeBytes;
    std::ptrdiff_t scaleAt = 0;
    const std::byte* scales =
        reinterpret_cast<const std::byte*>(m_panel.scale + 16 * place.columnHalf);
    std::int32_t(*sums)[32] = m_sums;
    const std::byte* unit = half;
    for (; unit < lastPair; unit += 2 * kUnitCodeBytes) {
      addPair<Rows>(rows, sums, scales + scaleAt, y, [&](auto second) {
        constexpr bool kIsSecond = decltype(second)::value;
        // two units on: as many groups, or one with two units
        const std::byte* values =
            rows.values(2 / NumHalves) + (kIsSecond && NumHalves == 2 ? kUnitInputs : 0);
        multiply<kIsSecond ? kSecondSumTile : kFirstSumTile>(
            values, rows.stride(), unit + (kIsSecond ? 3 : 2) * kUnitCodeBytes);
      });
      scaleAt += 2 * kScaleBytes;
    }
    if (m_numUnits % 2 == 0) {
      addPair<Rows>(rows, sums, scales + scaleAt, y, [&](auto second) {
        constexpr bool kIsSecond = decltype(second)::value;
        multiply<kIsSecond ? kSecondSumTile : kFirstSumTile>(next, kIsSecond);
      });
    } else {
      if (m_numUnits > 1) {
        addPair<Rows>(rows, sums, scales + scaleAt, y, [&](auto second) {
          if constexpr (!decltype(second)::value) multiply<kFirstSumTile>(place, m_numUnits - 1);
        });
        scaleAt += 2 * kScaleBytes;
      }
      addScaled<Rows, 0>(rows, sums[0], scales + scaleAt, y);
      begin(next);
    }
  }

  // Two units; multiplyNext(integral_constant) makes the product of the unit after the pair, and of
  // the one after that.
  template <int Rows, typename MultiplyNext>
  ALWAYS_INLINE void addPair(GroupCursor<Rows>& rows,
                             std::int32_t (*sums)[32],
                             const std::byte* scales,
                             __m512 (&y)[Rows],
                             MultiplyNext&& multiplyNext) {
    Tiles::template store<kSecondSumTile>(sums[0] + 16, kSumStride);
    multiplyNext(std::false_type{});
    addScaled<Rows, 0>(rows, sums[0], scales, y);
    if constexpr (NumHalves == 1) rows.next();
    Tiles::template store<kFirstSumTile>(sums[0], kSumStride);
    multiplyNext(std::true_type{});
    addScaled<Rows, 1 % NumHalves>(rows, sums[0] + 16, scales + kScaleBytes, y);
    rows.next();
  }

  template <int Rows, int Half>
  static ALWAYS_INLINE void addScaled(const GroupCursor<Rows>& rows,
                                      const std::int32_t* sums,
                                      const std::byte* scales,
                                      __m512 (&y)[Rows]) {
    // While tiles are in use one port only converts, multiplies and fuses; another still adds.
    // Adding the bias' bits and taking off its value gives the exact float as a conversion would.
    const __m512i bias = _mm512_set1_epi32(kSumBias);
    const __m512 biasValue = _mm512_set1_ps(kSumBiasValue);
    const __m512 scale = _mm512_load_ps(reinterpret_cast<const float*>(scales));
    __m512 min;
    if constexpr (HasMin) {
      constexpr std::ptrdiff_t kMinAt = offsetof(PanelType, min) - offsetof(PanelType, scale);
      min = _mm512_load_ps(reinterpret_cast<const float*>(scales + kMinAt));
    }
    for (int r = 0; r < Rows; ++r) {
      const QuantizedGroup& group = rows.row(r);
      const __m512i biased = _mm512_add_epi32(bias, _mm512_load_si512(sums + 32 * r));
      const __m512 sum = _mm512_sub_ps(_mm512_castsi512_ps(biased), biasValue);
      const __m512 value = _mm512_mul_ps(sum, _mm512_set1_ps(group.scale));
      y[r] = _mm512_fmadd_ps(value, scale, y[r]);
      if constexpr (HasMin) y[r] = _mm512_fmadd_ps(scaledSumOf<NumHalves>(group, Half), min, y[r]);
    }
  }

  static constexpr int kUnitInputs = kGroupSize / NumHalves;
  static constexpr int kUnitCodeBytes = kUnitInputs / 4 * kStepBytes;
  static constexpr int kScaleBytes = 4 * kTileColumns;
  static constexpr int kSumStride = 128;  // the same register serves the codes' rows

  const TileJob& m_job;
  const PanelType& m_panel;
  int m_tile, m_firstGroup, m_numUnits;
  alignas(64) std::int32_t m_sums[kBlockRows][32];  // of two units, side by side
};

template <typename Tiles, CodeLayout C, ScaleLayout S>
void multiplyTileByBlocks(const TileJob& job, int t) {
  Panel<halvesOf(S), hasMin(S)> panel;
  PackedGroups<C, S> groups(job.tiles + static_cast<std::size_t>(t) * job.tileBytes);
  const int size = pieceSize(job.numGroups);
  for (int g = 0; g < job.numGroups; g += size) {
    const int count = job.numGroups - g < size ? job.numGroups - g : size;
    unpackPanel<zeroOf(C, S)>(groups, count, panel);
    PieceProduct<Tiles, halvesOf(S), hasMin(S)>(job, t, panel, g, count).run();
  }
}

template <int NumHalves>
TileConfig tileConfig() {
  constexpr int kUnitBytes = kGroupSize / NumHalves;
  TileConfig config;
  const auto shape = [&config](int tile, int rows, int columnBytes) {
    config.rows[tile] = static_cast<std::uint8_t>(rows);
    config.columnBytes[tile] = static_cast<std::uint16_t>(columnBytes);
  };
  shape(kInputTile, kBlockRows, kUnitBytes);
  shape(kWeightTile, kUnitBytes / 4, 64);
  shape(kFirstSumTile, kBlockRows, 64);
  shape(kSecondSumTile, kBlockRows, 64);
  return config;
}

// The memory behind the rows must be readable up to the end of the last block of 16.
template <typename Tiles>
void multiplyQuantizedByTiles(const TileJob& job) {
  dispatchQuantized(job.layout, [&job](auto codes, auto scales) {
    constexpr CodeLayout C = decltype(codes)::value;
    constexpr ScaleLayout S = decltype(scales)::value;
    const TileConfig config = tileConfig<halvesOf(S)>();
    Tiles::configure(config);
    for (int t = 0; t < job.numTiles; ++t) multiplyTileByBlocks<Tiles, C, S>(job, t);
    Tiles::release();
  });
}

}  // namespace

}  // namespace kernels::cpu
