// What the AVX-512 files share: packed tiles read as vectors, unpacked for many rows, and where the
// sums of a tile go.
#pragma once

#include <immintrin.h>

#include <utility>

#include "kernels/core/quant_group.h"
#include "kernels/cpu/tile_job.h"
#include "kernels/cpu/tile_traits.h"

namespace kernels::cpu {

// Each including file has its own copy: one built with more flags must not serve another.
namespace {

#define ALWAYS_INLINE inline __attribute__((always_inline))

constexpr int kPieceGroups = 18;  // groups of a tile that meet all rows before the next ones do
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

// Two bits of step S.
template <int S>
ALWAYS_INLINE __m512i pairs(const std::byte* codes, int half) {
  const __m512i plane = loadBytes(codes + (S / 4) * kStepBytes + half * 64);
  return _mm512_and_si512(shiftLeft<-2 * (S % 4)>(plane), _mm512_set1_epi8(3));
}

template <>
struct CodeReader<CodeLayout::Two> {
  template <int S>
  static ALWAYS_INLINE __m512i load(const std::byte* codes, int half) {
    return pairs<S>(codes, half);
  }
};

template <>
struct CodeReader<CodeLayout::Three> {
  template <int S>
  static ALWAYS_INLINE __m512i load(const std::byte* codes, int half) {
    const __m512i plane = shiftLeft<2 - S>(loadBytes(codes + 2 * kStepBytes + half * 64));
    const __m512i code = select(pairs<S>(codes, half), plane, _mm512_set1_epi8(4));
    return _mm512_add_epi8(code, _mm512_set1_epi8(28));
  }
};

template <>
struct CodeReader<CodeLayout::Byte> {
  template <int S>
  static ALWAYS_INLINE __m512i load(const std::byte* codes, int half) {
    return loadBytes(codes + S * kStepBytes + half * 64);
  }
};

// The low (0) or high (1) four bits of 16 bytes.
template <int High>
ALWAYS_INLINE __m512 nibbleFloats(const std::byte* p) {
  const __m512i bytes = _mm512_cvtepu8_epi32(_mm_load_si128(reinterpret_cast<const __m128i*>(p)));
  return _mm512_cvtepi32_ps(High ? _mm512_srli_epi32(bytes, 4)
                                 : _mm512_and_si512(bytes, _mm512_set1_epi32(15)));
}

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
      if constexpr (S == ScaleLayout::Super16Min) {
        const std::byte* both = m_cursor.subScales(h) + 16 * j;
        out.scale[j] = _mm512_mul_ps(out.scale[j], nibbleFloats<0>(both));
        out.min[j] = _mm512_mul_ps(out.min[j], nibbleFloats<1>(both));
      } else if constexpr (isSuper(S)) {
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

template <int Zero, typename Reader, int... Steps>
ALWAYS_INLINE void unpackCodes(const std::byte* codes,
                               std::byte* out,
                               std::integer_sequence<int, Steps...>) {
  const auto store = [](std::byte* p, __m512i v) {
    if constexpr (Zero != 0) v = _mm512_sub_epi8(v, _mm512_set1_epi8(static_cast<char>(Zero)));
    _mm512_store_si512(reinterpret_cast<__m512i*>(p), v);
  };
  ((store(out + Steps * kStepBytes, Reader::template load<Steps>(codes, 0)),
    store(out + Steps * kStepBytes + 64, Reader::template load<Steps>(codes, 1))),
   ...);
}

// Moves `groups` on by numGroups; Zero is taken off every code.
template <int Zero, typename Groups, typename PanelType>
ALWAYS_INLINE void unpackPanel(Groups& groups, int numGroups, PanelType& panel) {
  for (int g = 0; g < numGroups; ++g) {
    unpackCodes<Zero, typename Groups::Reader>(groups.codes(), panel.codes + g * 8 * kStepBytes,
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

// Groups of a piece: pieces are as even as can be.
ALWAYS_INLINE int pieceSize(int numGroups) {
  const int numPieces = (numGroups + kPieceGroups - 1) / kPieceGroups;
  return (numGroups + numPieces - 1) / numPieces;
}

struct Output {
  float* at;
  std::ptrdiff_t ld;
  __mmask16 mask[2];
};

ALWAYS_INLINE Output outputOf(const TileJob& job, int tile, int firstRow) {
  const int left = job.numColumns - tile * kTileColumns;
  const std::uint32_t mask = left >= kTileColumns ? ~0u : (1u << left) - 1u;
  return {job.out + firstRow * job.ldOut + tile * kTileColumns,
          job.ldOut,
          {static_cast<__mmask16>(mask), static_cast<__mmask16>(mask >> 16)}};
}

}  // namespace

}  // namespace kernels::cpu
