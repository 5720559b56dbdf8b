// Matrix kernels on 256-bit vectors: lane = output column, as in the 512-bit file, and bit for bit
// the same results. Included by the file of AVX-VNNI, which has a dot instruction, and by that of
// AVX2, which has not: there, codes of few bits are summed in 16 bits as long as that cannot
// overflow, e.g. 8 steps of 2 * 15 * 127 for nibbles, and eight-bit codes are made signed.
#pragma once

#include <utility>

#include "kernels/cpu/tile_ymm.h"

namespace kernels::cpu {

namespace {

#ifdef __AVXVNNI__
constexpr bool kHasDot = true;
#else
constexpr bool kHasDot = false;
#endif
constexpr int kMaxRows = 4;
constexpr int kPieceGroups = 16;  // groups of a tile that meet all rows before the next ones do

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
  static constexpr int kNumHalves = halvesOf(S);
  static constexpr bool kHasMin = hasMin(S);
  static constexpr int kMaxSteps = CodeReader<C>::kMaxSteps;

  explicit ALWAYS_INLINE PanelGroups(const Panel<kNumHalves, kHasMin>& panel)
      : m_codes(panel.codes), m_scale(panel.scale), m_min(panel.min) {}

  template <int Step>
  ALWAYS_INLINE __m256i load(int j) const {
    return CodeReader<CodeLayout::Byte>::load<Step>(m_codes, j);
  }

  ALWAYS_INLINE Scales scales(int h, int j) const {
    Scales out;
    out.scale = _mm256_load_ps(m_scale + h * kTileColumns + kLanes * j);
    if constexpr (kHasMin) out.min = _mm256_load_ps(m_min + h * kTileColumns + kLanes * j);
    return out;
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
};

// GCC would turn a chain of integer adds into a tree, which takes more registers than there are.
ALWAYS_INLINE void keepInOrder(__m256i& sum) {
  __asm__("" : "+x"(sum));
}

// Codes made signed carry no zero point: their sums begin with the bias alone.
template <Start Z>
ALWAYS_INLINE __m256i startValue(const QuantizedGroup& group, int h) {
  if constexpr (Z == Start::Zero8) return _mm256_set1_epi32(group.start8);
  if constexpr (Z == Start::Zero16) return _mm256_set1_epi32(group.start16);
  if constexpr (Z == Start::Zero32) return _mm256_set1_epi32(group.start32[h]);
  if constexpr (Z == Start::Zero128 && kHasDot) return _mm256_set1_epi32(group.start128);
  return _mm256_set1_epi32(kSumBias);
}

// scale * sum of the values that half h covers
template <int NumHalves>
ALWAYS_INLINE __m256 scaledSum(const QuantizedGroup& group, int h) {
  if constexpr (NumHalves == 1) return _mm256_set1_ps(group.scaledSum);
  const float sum = static_cast<float>(kSumBias - group.start32[h]) * (1.0f / 32.0f);
  return _mm256_set1_ps(group.scale * sum);
}

// Rows x Vectors sums; the vectors begin at column firstVector * 8 of the tile.
template <int Rows, int Vectors>
struct Block {
  using IntSums = __m256i[Rows][Vectors];
  using Sums = __m256[Rows][Vectors];
  int firstVector;
  const QuantizedGroup* rows[Rows];
  Sums y;

#ifdef __AVXVNNI__
  // Position P in the order of steps.
  template <Start Z, int P, int S, bool IsLast, typename Groups>
  ALWAYS_INLINE void addStep(const Groups& groups, int h, IntSums&, IntSums& n) const {
    for (int j = 0; j < Vectors; ++j) {
      const __m256i w = groups.template load<S>(firstVector + j);
      for (int i = 0; i < Rows; ++i) {
        const __m256i a = _mm256_set1_epi32(*reinterpret_cast<const int*>(rows[i]->values + 4 * S));
        n[i][j] = _mm256_dpbusd_avx_epi32(P == 0 ? startValue<Z>(*rows[i], h) : n[i][j], w, a);
      }
    }
  }
#else
  // Position P in the order of steps; `part` holds 16-bit sums that are emptied into n in time.
  template <Start Z, int P, int S, bool IsLast, typename Groups>
  ALWAYS_INLINE void addStep(const Groups& groups, int h, IntSums& part, IntSums& n) const {
    const __m256i ones = _mm256_set1_epi16(1);
    constexpr int kMaxSteps = Groups::kMaxSteps;
    for (int j = 0; j < Vectors; ++j) {
      __m256i w = groups.template load<S>(firstVector + j);
      if constexpr (kMaxSteps == 0) w = _mm256_xor_si256(w, _mm256_set1_epi8(-128));
      const __m256i magnitude = kMaxSteps == 0 ? _mm256_abs_epi8(w) : w;
      for (int i = 0; i < Rows; ++i) {
        __m256i a = _mm256_set1_epi32(*reinterpret_cast<const int*>(rows[i]->values + 4 * S));
        if constexpr (kMaxSteps == 0) a = _mm256_sign_epi8(a, w);
        const __m256i product = _mm256_maddubs_epi16(magnitude, a);
        if constexpr (kMaxSteps == 0) {
          const __m256i sums = _mm256_madd_epi16(product, ones);
          n[i][j] = _mm256_add_epi32(P == 0 ? startValue<Z>(*rows[i], h) : n[i][j], sums);
          keepInOrder(n[i][j]);
        } else {
          part[i][j] = P % kMaxSteps == 0 ? product : _mm256_add_epi16(part[i][j], product);
          keepInOrder(part[i][j]);
          if constexpr ((P + 1) % kMaxSteps == 0 || IsLast) {
            const __m256i sums = _mm256_madd_epi16(part[i][j], ones);
            // the first time: only now need the start be in a register
            const __m256i before = P < kMaxSteps ? startValue<Z>(*rows[i], h) : n[i][j];
            n[i][j] = _mm256_add_epi32(before, sums);
          }
        }
      }
    }
  }

#endif

  // y += weights of one group (or of one half of it) times its activations.
  template <Start Z, typename Groups, int... Positions, int... Steps>
  ALWAYS_INLINE void addHalf(const Groups& groups,
                             int h,
                             std::integer_sequence<int, Positions...>,
                             std::integer_sequence<int, Steps...>) {
    IntSums n, part;
    constexpr int kNumSteps = sizeof...(Steps);
    (addStep<Z, Positions, Steps, Positions == kNumSteps - 1>(groups, h, part, n), ...);
    for (int j = 0; j < Vectors; ++j) {
      const Scales scales = groups.scales(h, firstVector + j);
      for (int i = 0; i < Rows; ++i) {
        const __m256 value =
            _mm256_fmadd_ps(_mm256_castsi256_ps(n[i][j]), _mm256_set1_ps(rows[i]->scale),
                            _mm256_set1_ps(rows[i]->shift));
        y[i][j] = _mm256_fmadd_ps(value, scales.scale, y[i][j]);
        if constexpr (Groups::kHasMin) {
          y[i][j] =
              _mm256_fmadd_ps(scaledSum<Groups::kNumHalves>(*rows[i], h), scales.min, y[i][j]);
        }
      }
    }
  }

  template <Start Z, typename Groups>
  ALWAYS_INLINE void addGroups(Groups groups, int numGroups) {
    using FourPositions = std::make_integer_sequence<int, 4>;
    for (int g = 0; g < numGroups; ++g) {
      if constexpr (Groups::kNumHalves == 1) {
        addHalf<Z>(groups, 0, std::make_integer_sequence<int, 8>{},
                   std::integer_sequence<int, 0, 4, 1, 5, 2, 6, 3, 7>{});
      } else {
        addHalf<Z>(groups, 0, FourPositions{}, std::integer_sequence<int, 0, 1, 2, 3>{});
        addHalf<Z>(groups, 1, FourPositions{}, std::integer_sequence<int, 4, 5, 6, 7>{});
      }
      groups.next();
      for (int i = 0; i < Rows; ++i) ++rows[i];
    }
  }
};

struct Output {
  float* at;
  std::ptrdiff_t ld;
  int numColumns;
};

Output outputOf(const TileJob& job, int tile, int firstRow) {
  return {job.out + firstRow * job.ldOut + tile * kTileColumns, job.ldOut,
          job.numColumns - tile * kTileColumns};
}

// Lanes of vector j that are inside the matrix.
ALWAYS_INLINE __m256i laneMask(const Output& out, int j) {
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(out.numColumns - j * kLanes), lanes);
}

template <int Rows, int Vectors>
ALWAYS_INLINE void loadSums(const Output& out, Block<Rows, Vectors>& block) {
  for (int j = 0; j < Vectors; ++j) {
    const int vector = block.firstVector + j;
    const __m256i mask = laneMask(out, vector);
    for (int i = 0; i < Rows; ++i) {
      block.y[i][j] = _mm256_maskload_ps(out.at + i * out.ld + vector * kLanes, mask);
    }
  }
}

template <int Rows, int Vectors>
ALWAYS_INLINE void storeSums(const Output& out, const Block<Rows, Vectors>& block) {
  for (int j = 0; j < Vectors; ++j) {
    const int vector = block.firstVector + j;
    const __m256i mask = laneMask(out, vector);
    for (int i = 0; i < Rows; ++i) {
      _mm256_maskstore_ps(out.at + i * out.ld + vector * kLanes, mask, block.y[i][j]);
    }
  }
}

template <int Rows, int Vectors>
ALWAYS_INLINE void clearSums(Block<Rows, Vectors>& block) {
  for (int i = 0; i < Rows; ++i) {
    for (int j = 0; j < Vectors; ++j) block.y[i][j] = _mm256_setzero_ps();
  }
}

// One row takes all four vectors at once, so that its packed weights stream by; several rows take
// two.
constexpr int vectorsFor(int numRows) {
  return numRows == 1 ? 4 : 2;
}

// Groups [firstGroup, firstGroup + numGroups) of rows firstRow .. firstRow + Rows - 1 and one tile.
template <Start Z, int Rows, typename Groups>
ALWAYS_INLINE void multiplyRows(const TileJob& job,
                                const Groups& groups,
                                int tile,
                                int firstRow,
                                int firstGroup,
                                int numGroups) {
  constexpr int kVectors = vectorsFor(Rows);
  const Output out = outputOf(job, tile, firstRow);
  for (int vector = 0; vector < kTileColumns / kLanes; vector += kVectors) {
    Block<Rows, kVectors> block;
    block.firstVector = vector;
    for (int i = 0; i < Rows; ++i) {
      block.rows[i] = job.groups + (firstRow + i) * job.rowStride + firstGroup;
    }
    if (firstGroup > 0) {
      loadSums(out, block);
    } else {
      clearSums(block);
    }
    block.template addGroups<Z>(groups, numGroups);
    storeSums(out, block);
  }
}

template <typename Groups, int... Steps>
ALWAYS_INLINE void unpackCodes(const Groups& groups,
                               std::byte* out,
                               std::integer_sequence<int, Steps...>) {
  for (int j = 0; j < kTileColumns / kLanes; ++j) {
    (_mm256_store_si256(reinterpret_cast<__m256i*>(out + Steps * kStepBytes + 32 * j),
                        groups.template load<Steps>(j)),
     ...);
  }
}

// Moves `groups` on by numGroups.
template <typename Groups, typename PanelType>
ALWAYS_INLINE void unpackPanel(Groups& groups, int numGroups, PanelType& panel) {
  for (int g = 0; g < numGroups; ++g) {
    unpackCodes(groups, panel.codes + g * 8 * kStepBytes, std::make_integer_sequence<int, 8>{});
    for (int h = 0; h < Groups::kNumHalves; ++h) {
      for (int j = 0; j < kTileColumns / kLanes; ++j) {
        const Scales scales = groups.scales(h, j);
        const int at = (g * Groups::kNumHalves + h) * kTileColumns + kLanes * j;
        _mm256_store_ps(panel.scale + at, scales.scale);
        if constexpr (Groups::kHasMin) _mm256_store_ps(panel.min + at, scales.min);
      }
    }
    groups.next();
  }
}

// Many rows: a piece of the tile small enough for L1 meets all of them before the next piece does.
template <CodeLayout C, ScaleLayout S>
void multiplyTileByPieces(const TileJob& job, int t) {
  // bytes need no unpacking
  constexpr bool kUsesPanel = C != CodeLayout::Byte;
  Panel<halvesOf(S), hasMin(S)> panel;
  PackedGroups<C, S> groups(job.tiles + static_cast<std::size_t>(t) * job.tileBytes);
  for (int g = 0; g < job.numGroups; g += kPieceGroups) {
    const int count = job.numGroups - g < kPieceGroups ? job.numGroups - g : kPieceGroups;
    PackedGroups<C, S> rest = groups;
    if constexpr (kUsesPanel) {
      unpackPanel(rest, count, panel);
    } else {
      for (int i = 0; i < count; ++i) rest.next();
    }
    forRowBlocks<kMaxRows>(job.numRows, [&](auto rows, int firstRow) {
      constexpr int kRows = decltype(rows)::value;
      if constexpr (kUsesPanel) {
        multiplyRows<startOf(C, S), kRows>(job, PanelGroups<C, S>(panel), t, firstRow, g, count);
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

}  // namespace kernels::cpu
