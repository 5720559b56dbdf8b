// Matrix kernels on 512-bit VNNI: lane = output column, weights unsigned in registers, activations
// broadcast from memory. See quantized_group.h for the arithmetic and tile_layout.h for the layout.
#include "kernels/cpu/tile_avx512.h"

namespace kernels::cpu {

namespace {

constexpr int kMaxRows = 6;  // rows of one register block: 12 integer and 12 float sums

template <CodeLayout C, ScaleLayout S>
class PanelGroups {
 public:
  using Reader = CodeReader<CodeLayout::Byte>;
  static constexpr int kNumHalves = halvesOf(S);
  static constexpr bool kHasMin = hasMin(S);

  // upcoming: packed bytes of the next panel, fetched while this one is used; null = not now.
  ALWAYS_INLINE PanelGroups(const Panel<kNumHalves, kHasMin>& panel, const std::byte* upcoming)
      : m_codes(panel.codes), m_scale(panel.scale), m_min(panel.min), m_upcoming(upcoming) {}

  ALWAYS_INLINE const std::byte* codes() const { return m_codes; }

  ALWAYS_INLINE Scales scales(int h) const {
    Scales out;
    for (int j = 0; j < 2; ++j) {
      out.scale[j] = _mm512_load_ps(m_scale + h * kTileColumns + 16 * j);
      if constexpr (kHasMin) out.min[j] = _mm512_load_ps(m_min + h * kTileColumns + 16 * j);
    }
    return out;
  }

  ALWAYS_INLINE void prefetch() {
    if (m_upcoming == nullptr) return;
    for (int line = 0; line < groupBytesOf(C, S); line += 64) {
      _mm_prefetch(m_upcoming + line, _MM_HINT_T1);
    }
    m_upcoming += groupBytesOf(C, S);
  }

  ALWAYS_INLINE void next() {
    m_codes += 8 * kStepBytes;
    m_scale += kNumHalves * kTileColumns;
    if constexpr (kHasMin) m_min += kNumHalves * kTileColumns;
  }

 private:
  const std::byte* m_codes;
  const float* m_scale;
  const float* m_min;
  const std::byte* m_upcoming;
};

// Packed groups of a piece that several blocks of rows read one after the other: each block fetches
// its share of the piece that comes next.
template <CodeLayout C, ScaleLayout S>
class SharedGroups : public PackedGroups<C, S> {
 public:
  // pieceBytes: from a group to the same one of the next piece; rows [firstRow, endRow) of numRows.
  ALWAYS_INLINE SharedGroups(
      const PackedGroups<C, S>& groups, int pieceBytes, int firstRow, int endRow, int numRows)
      : PackedGroups<C, S>(groups),
        m_begin(pieceBytes + kNumLines * firstRow / numRows * 64),
        m_end(pieceBytes + kNumLines * endRow / numRows * 64) {}

  ALWAYS_INLINE void prefetch() const {
    for (int at = m_begin; at < m_end; at += 64) _mm_prefetch(this->codes() + at, _MM_HINT_T1);
  }

 private:
  static constexpr int kNumLines = groupBytesOf(C, S) / 64;
  int m_begin, m_end;
};

template <Start Z>
ALWAYS_INLINE __m512i startValue(const QuantizedGroup& group, int h) {
  if constexpr (Z == Start::Zero8) return _mm512_set1_epi32(group.start8);
  if constexpr (Z == Start::Zero16) return _mm512_set1_epi32(group.start16);
  if constexpr (Z == Start::Zero128) return _mm512_set1_epi32(group.start128);
  if constexpr (Z == Start::Zero32) return _mm512_set1_epi32(group.start32[h]);
  return _mm512_set1_epi32(kSumBias);
}

// scale * sum of the values that half h covers
template <int NumHalves>
ALWAYS_INLINE __m512 scaledSum(const QuantizedGroup& group, int h) {
  if constexpr (NumHalves == 1) return _mm512_set1_ps(group.scaledSum);
  const __m512i sum32 =
      _mm512_sub_epi32(_mm512_set1_epi32(kSumBias), _mm512_set1_epi32(group.start32[h]));
  const __m512 sum = _mm512_mul_ps(_mm512_cvtepi32_ps(sum32), _mm512_set1_ps(1.0f / 32.0f));
  return _mm512_mul_ps(_mm512_set1_ps(group.scale), sum);
}

template <int Rows>
using Sums = __m512[Rows][2];

template <int Rows>
ALWAYS_INLINE void loadSums(const Output& out, Sums<Rows>& y) {
  for (int i = 0; i < Rows; ++i) {
    for (int j = 0; j < 2; ++j) {
      y[i][j] = _mm512_maskz_loadu_ps(out.mask[j], out.at + i * out.ld + 16 * j);
    }
  }
}

template <int Rows>
ALWAYS_INLINE void storeSums(const Output& out, const Sums<Rows>& y) {
  for (int i = 0; i < Rows; ++i) {
    for (int j = 0; j < 2; ++j) {
      _mm512_mask_storeu_ps(out.at + i * out.ld + 16 * j, out.mask[j], y[i][j]);
    }
  }
}

template <int S, int Rows, typename Groups>
ALWAYS_INLINE void addStep(const Groups& groups,
                           const QuantizedGroup* const (&rows)[Rows],
                           __m512i (&n)[Rows][2]) {
  const __m512i w0 = Groups::Reader::template load<S>(groups.codes(), 0);
  const __m512i w1 = Groups::Reader::template load<S>(groups.codes(), 1);
  for (int i = 0; i < Rows; ++i) {
    const __m512i a = _mm512_set1_epi32(*reinterpret_cast<const int*>(rows[i]->values + 4 * S));
    n[i][0] = _mm512_dpbusd_epi32(n[i][0], w0, a);
    n[i][1] = _mm512_dpbusd_epi32(n[i][1], w1, a);
  }
}

// y += weights of one group (or of one half of it) times its activations.
template <Start Z, int Rows, typename Groups, int... Steps>
ALWAYS_INLINE void addHalf(const Groups& groups,
                           const QuantizedGroup* const (&rows)[Rows],
                           int h,
                           Sums<Rows>& y,
                           std::integer_sequence<int, Steps...>) {
  __m512i n[Rows][2];
  for (int i = 0; i < Rows; ++i) n[i][0] = n[i][1] = startValue<Z>(*rows[i], h);
  (addStep<Steps, Rows>(groups, rows, n), ...);
  const Scales scales = groups.scales(h);
  for (int i = 0; i < Rows; ++i) {
    const __m512 scale = _mm512_set1_ps(rows[i]->scale), shift = _mm512_set1_ps(rows[i]->shift);
    for (int j = 0; j < 2; ++j) {
      const __m512 value = _mm512_fmadd_ps(_mm512_castsi512_ps(n[i][j]), scale, shift);
      y[i][j] = _mm512_fmadd_ps(value, scales.scale[j], y[i][j]);
    }
    if constexpr (Groups::kHasMin) {
      const __m512 sum = scaledSum<Groups::kNumHalves>(*rows[i], h);
      for (int j = 0; j < 2; ++j) y[i][j] = _mm512_fmadd_ps(sum, scales.min[j], y[i][j]);
    }
  }
}

template <Start Z, int Rows, typename Groups>
ALWAYS_INLINE void addGroups(Groups groups,
                             int numGroups,
                             const QuantizedGroup* first,
                             std::ptrdiff_t rowStride,
                             Sums<Rows>& y) {
  const QuantizedGroup* rows[Rows];
  for (int i = 0; i < Rows; ++i) rows[i] = first + i * rowStride;
  for (int g = 0; g < numGroups; ++g) {
    groups.prefetch();
    if constexpr (Groups::kNumHalves == 1) {
      // steps s and s+4 next to each other: they share their packed bytes
      addHalf<Z, Rows>(groups, rows, 0, y, std::integer_sequence<int, 0, 4, 1, 5, 2, 6, 3, 7>{});
    } else {
      addHalf<Z, Rows>(groups, rows, 0, y, std::integer_sequence<int, 0, 1, 2, 3>{});
      addHalf<Z, Rows>(groups, rows, 1, y, std::integer_sequence<int, 4, 5, 6, 7>{});
    }
    groups.next();
    for (int i = 0; i < Rows; ++i) ++rows[i];
  }
}

// Groups [firstGroup, firstGroup + numGroups) of Rows rows and one tile, added to what `out` has
// from the groups before.
template <Start Z, int Rows, typename Groups>
ALWAYS_INLINE void multiplyRows(const TileJob& job,
                                const Groups& groups,
                                int tile,
                                int firstRow,
                                int firstGroup,
                                int numGroups) {
  const Output out = outputOf(job, tile, firstRow);
  Sums<Rows> y;
  if (firstGroup > 0) {
    loadSums<Rows>(out, y);
  } else {
    for (int i = 0; i < Rows; ++i) y[i][0] = y[i][1] = _mm512_setzero_ps();
  }
  addGroups<Z, Rows>(groups, numGroups, job.groups + firstRow * job.rowStride + firstGroup,
                     job.rowStride, y);
  storeSums<Rows>(out, y);
}

// Many rows: a piece of the tile small enough for L1 meets all of them before the next piece does.
template <CodeLayout C, ScaleLayout S>
void multiplyTileByPieces(const TileJob& job, int t) {
  // bytes need no unpacking, and nibbles unpack so quickly that two register blocks may each do it
  constexpr int kMaxDirectRows = C == CodeLayout::Nibble ? 2 * kMaxRows : kMaxRows;
  const bool usesPanel = C != CodeLayout::Byte && job.numRows > kMaxDirectRows;
  Panel<halvesOf(S), hasMin(S)> panel;
  PackedGroups<C, S> groups(job.tiles + static_cast<std::size_t>(t) * job.tileBytes);
  const int size = pieceSize(job.numGroups);
  for (int g = 0; g < job.numGroups; g += size) {
    const int count = job.numGroups - g < size ? job.numGroups - g : size;
    PackedGroups<C, S> rest = groups;
    if (usesPanel) {
      unpackPanel<0>(rest, count, panel);
    } else {
      for (int i = 0; i < count; ++i) rest.next();
    }
    forRowBlocks<kMaxRows>(job.numRows, [&](auto rows, int firstRow) {
      constexpr int kRows = decltype(rows)::value;
      if (usesPanel) {
        const PanelGroups<C, S> unpacked(panel, firstRow == 0 ? rest.codes() : nullptr);
        multiplyRows<startOf(C, S), kRows>(job, unpacked, t, firstRow, g, count);
      } else {
        const SharedGroups<C, S> shared(groups, count * groupBytesOf(C, S), firstRow,
                                        firstRow + kRows, job.numRows);
        multiplyRows<startOf(C, S), kRows>(job, shared, t, firstRow, g, count);
      }
    });
    groups = rest;
  }
}

template <CodeLayout C, ScaleLayout S>
void multiplyQuantized(const TileJob& job) {
  for (int t = 0; t < job.numTiles; ++t) {
    if (job.numRows > kMaxRows) {
      multiplyTileByPieces<C, S>(job, t);
      continue;
    }
    const PackedGroups<C, S> groups(job.tiles + static_cast<std::size_t>(t) * job.tileBytes);
    forRowBlocks<kMaxRows>(job.numRows, [&](auto rows, int) {
      multiplyRows<startOf(C, S), decltype(rows)::value>(job, groups, t, 0, 0, job.numGroups);
    });
  }
}

}  // namespace

void multiplyQuantizedAvx512Vnni(const TileJob& job) {
  dispatchQuantized(job.layout, [&job](auto codes, auto scales) {
    multiplyQuantized<decltype(codes)::value, decltype(scales)::value>(job);
  });
}

}  // namespace kernels::cpu
