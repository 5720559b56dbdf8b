// Matrix kernels on 512-bit VNNI: lane = output column, weights unsigned in registers, activations
// broadcast from memory. See quantized_group.h for the arithmetic and tile_layout.h for the layout.
#include <immintrin.h>

#include <utility>

#include "kernels/core/quant_group.h"
#include "kernels/cpu/tile_job.h"
#include "kernels/cpu/tile_traits.h"

namespace kernels::cpu {

namespace {

#define ALWAYS_INLINE inline __attribute__((always_inline))

constexpr int kMaxRows = 6;       // rows of one register block: 12 integer and 12 float sums
constexpr int kPieceGroups = 16;  // groups of a tile that meet all rows before the next ones do
constexpr int kStepBytes = kTileColumns * 4;
constexpr int kPrefetchBytes = 4096;  // how far ahead of a register block packed bytes are fetched

struct Scales {
  __m512 scale[2], min[2];  // 16 columns each
};

ALWAYS_INLINE __m512i loadBytes(const std::byte* p) {
  return _mm512_load_si512(reinterpret_cast<const __m512i*>(p));
}

ALWAYS_INLINE __m512 loadHalves(const std::byte* p) {
  return _mm512_cvtph_ps(_mm256_load_si256(reinterpret_cast<const __m256i*>(p)));
}

// a where `mask` is 0, b where it is 1
ALWAYS_INLINE __m512i select(__m512i a, __m512i b, __m512i mask) {
  return _mm512_ternarylogic_epi32(a, b, mask, 0xD8);
}

template <int Shift>
ALWAYS_INLINE __m512i shiftLeft(__m512i v) {
  if constexpr (Shift > 0) return _mm512_slli_epi16(v, Shift);
  if constexpr (Shift < 0) return _mm512_srli_epi16(v, -Shift);
  return v;
}

// How the codes of one group are read: load<S> gives step S of the columns.
template <CodeLayout>
struct CodeReader;

template <int S>
ALWAYS_INLINE __m512i nibbles(const std::byte* codes, int half) {
  const __m512i both = loadBytes(codes + (S % 4) * kStepBytes + half * 64);
  return S < 4 ? both : _mm512_srli_epi16(both, 4);
}

template <>
struct CodeReader<CodeLayout::Nibble> {
  template <int S>
  static ALWAYS_INLINE __m512i load(const std::byte* codes, int half) {
    return _mm512_and_si512(nibbles<S>(codes, half), _mm512_set1_epi8(15));
  }
};

template <>
struct CodeReader<CodeLayout::NibbleTable> {
  template <int S>
  static ALWAYS_INLINE __m512i load(const std::byte* codes, int half) {
    const __m512i levels =
        _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(kNonLinearCodes)));
    return _mm512_shuffle_epi8(levels, CodeReader<CodeLayout::Nibble>::load<S>(codes, half));
  }
};

template <>
struct CodeReader<CodeLayout::Five> {
  template <int S>
  static ALWAYS_INLINE __m512i load(const std::byte* codes, int half) {
    const __m512i plane = shiftLeft<4 - S>(loadBytes(codes + 4 * kStepBytes + half * 64));
    const __m512i mixed = select(plane, nibbles<S>(codes, half), _mm512_set1_epi8(15));
    return _mm512_and_si512(mixed, _mm512_set1_epi8(31));
  }
};

template <>
struct CodeReader<CodeLayout::Six> {
  template <int S>
  static ALWAYS_INLINE __m512i load(const std::byte* codes, int half) {
    const __m512i plane = loadBytes(codes + (4 + S / 4) * kStepBytes + half * 64);
    const __m512i mixed =
        select(shiftLeft<4 - 2 * (S % 4)>(plane), nibbles<S>(codes, half), _mm512_set1_epi8(15));
    return _mm512_and_si512(mixed, _mm512_set1_epi8(63));
  }
};

template <>
struct CodeReader<CodeLayout::Byte> {
  template <int S>
  static ALWAYS_INLINE __m512i load(const std::byte* codes, int half) {
    return loadBytes(codes + S * kStepBytes + half * 64);
  }
};

ALWAYS_INLINE __m512 signedBytes(const std::byte* p) {
  return _mm512_cvtepi32_ps(
      _mm512_cvtepi8_epi32(_mm_load_si128(reinterpret_cast<const __m128i*>(p))));
}

// A packed tile, its codes and scales read as vectors.
template <CodeLayout C, ScaleLayout S>
class PackedGroups {
 public:
  using Reader = CodeReader<C>;
  static constexpr int kNumHalves = halvesOf(S);
  static constexpr bool kHasMin = hasMin(S);

  explicit ALWAYS_INLINE PackedGroups(const std::byte* tile) : m_cursor(tile) {}

  ALWAYS_INLINE const std::byte* codes() const { return m_cursor.codes; }

  // Of half h. Sub-scales are signed only where there is no minimum; with one they have 6 bits at
  // most.
  ALWAYS_INLINE Scales scales(int h) const {
    Scales out;
    for (int j = 0; j < 2; ++j) {
      const std::byte* halves = m_cursor.scaleHalves() + 32 * j;
      out.scale[j] = loadHalves(halves);
      if constexpr (kHasMin) out.min[j] = loadHalves(halves + 64);
      if constexpr (isSuper(S)) {
        out.scale[j] = _mm512_mul_ps(out.scale[j], signedBytes(m_cursor.subScales(h) + 16 * j));
        if constexpr (kHasMin) {
          out.min[j] = _mm512_mul_ps(out.min[j], signedBytes(m_cursor.subMins(h) + 16 * j));
        }
      }
    }
    return out;
  }

  // Ahead into the same or the next tile; beyond the last one it does no harm.
  ALWAYS_INLINE void prefetch() const {
    for (int line = 0; line < groupBytesOf(C, S); line += 64) {
      _mm_prefetch(m_cursor.codes + kPrefetchBytes + line, _MM_HINT_T0);
    }
  }

  ALWAYS_INLINE void next() { m_cursor.next(); }

 private:
  TileCursor<C, S> m_cursor;
};

// Codes and scales of some groups, unpacked once for many rows.
template <int NumHalves, bool HasMin>
struct alignas(64) Panel {
  static constexpr int kNumScales = kPieceGroups * NumHalves * kTileColumns;
  std::byte codes[kPieceGroups * 8 * kStepBytes];
  float scale[kNumScales];
  float min[HasMin ? kNumScales : 1];
};

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

struct Output {
  float* at;
  std::ptrdiff_t ld;
  __mmask16 mask[2];
};

Output outputOf(const TileJob& job, int tile, int firstRow) {
  const int left = job.numColumns - tile * kTileColumns;
  const std::uint32_t mask = left >= kTileColumns ? ~0u : (1u << left) - 1u;
  return {job.out + firstRow * job.ldOut + tile * kTileColumns,
          job.ldOut,
          {static_cast<__mmask16>(mask), static_cast<__mmask16>(mask >> 16)}};
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

template <typename Reader, int... Steps>
ALWAYS_INLINE void unpackCodes(const std::byte* codes,
                               std::byte* out,
                               std::integer_sequence<int, Steps...>) {
  const auto store = [](std::byte* p, __m512i v) {
    _mm512_store_si512(reinterpret_cast<__m512i*>(p), v);
  };
  ((store(out + Steps * kStepBytes, Reader::template load<Steps>(codes, 0)),
    store(out + Steps * kStepBytes + 64, Reader::template load<Steps>(codes, 1))),
   ...);
}

// Moves `groups` on by numGroups.
template <typename Groups, typename PanelType>
ALWAYS_INLINE void unpackPanel(Groups& groups, int numGroups, PanelType& panel) {
  for (int g = 0; g < numGroups; ++g) {
    unpackCodes<typename Groups::Reader>(groups.codes(), panel.codes + g * 8 * kStepBytes,
                                         std::make_integer_sequence<int, 8>{});
    for (int h = 0; h < Groups::kNumHalves; ++h) {
      const Scales scales = groups.scales(h);
      const int at = (g * Groups::kNumHalves + h) * kTileColumns;
      for (int j = 0; j < 2; ++j) {
        _mm512_store_ps(panel.scale + at + 16 * j, scales.scale[j]);
        if constexpr (Groups::kHasMin) _mm512_store_ps(panel.min + at + 16 * j, scales.min[j]);
      }
    }
    groups.next();
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
  for (int g = 0; g < job.numGroups; g += kPieceGroups) {
    const int count = job.numGroups - g < kPieceGroups ? job.numGroups - g : kPieceGroups;
    PackedGroups<C, S> rest = groups;
    if (usesPanel) {
      unpackPanel(rest, count, panel);
    } else {
      for (int i = 0; i < count; ++i) rest.next();
    }
    forRowBlocks<kMaxRows>(job.numRows, [&](auto rows, int firstRow) {
      constexpr int kRows = decltype(rows)::value;
      if (usesPanel) {
        const PanelGroups<C, S> unpacked(panel, firstRow == 0 ? rest.codes() : nullptr);
        multiplyRows<startOf(C, S), kRows>(job, unpacked, t, firstRow, g, count);
      } else {
        multiplyRows<startOf(C, S), kRows>(job, groups, t, firstRow, g, count);
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
  using C = CodeLayout;
  using S = ScaleLayout;
  switch (job.layout.codes) {
    case C::Nibble:
      if (job.layout.scales == S::Half) return multiplyQuantized<C::Nibble, S::Half>(job);
      if (job.layout.scales == S::HalfMin) return multiplyQuantized<C::Nibble, S::HalfMin>(job);
      if (job.layout.scales == S::SuperMin) return multiplyQuantized<C::Nibble, S::SuperMin>(job);
      return multiplyQuantized<C::Nibble, S::Super16Min>(job);
    case C::NibbleTable:
      if (job.layout.scales == S::Half) return multiplyQuantized<C::NibbleTable, S::Half>(job);
      return multiplyQuantized<C::NibbleTable, S::Super>(job);
    case C::Five:
      if (job.layout.scales == S::Half) return multiplyQuantized<C::Five, S::Half>(job);
      if (job.layout.scales == S::HalfMin) return multiplyQuantized<C::Five, S::HalfMin>(job);
      return multiplyQuantized<C::Five, S::SuperMin>(job);
    case C::Six:
      return multiplyQuantized<C::Six, S::Super16>(job);
    case C::Byte:
      return multiplyQuantized<C::Byte, S::Half>(job);
    case C::F16:
    case C::BF16:
    case C::F32:
      return;  // matmul_floats_avx512vnni.cpp
  }
}

}  // namespace kernels::cpu
