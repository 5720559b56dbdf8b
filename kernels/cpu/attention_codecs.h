// Groups of 16 quantised keys and values into floats, once for all the rows that read them; included
// by attention files only. Every form is exact (kernels/core/kv_codec.h says what to).
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/core/kv_codec.h"
#include "kernels/cpu/attention_kv_forms.h"
#include "kernels/cpu/kv_planes.h"

namespace kernels::cpu {

// Sixteen tokens of a plane: codes as kv_planes.h lays groups out, f16 parameters of one kind
// together and `parameterStride` bytes from kind to kind.
struct CodedGroup {
  const std::byte* codes = nullptr;
  const std::byte* parameters = nullptr;
  std::ptrdiff_t parameterStride = 0;

  const std::byte* parameter(int kind) const { return parameters + kind * parameterStride; }
};

// The group that begins at token `offset` of a block of at least 16.
static inline CodedGroup codedGroup(const KvPlanes& planes, const std::byte* plane, int offset) {
  const auto codeBytes = static_cast<std::ptrdiff_t>(planes.codeBytes);
  return {plane + offset * codeBytes, plane + planes.blockSize * codeBytes + 2 * offset,
          2 * static_cast<std::ptrdiff_t>(planes.blockSize)};
}

// Puts tokens from smaller blocks together as a group of keys and one of values.
class GroupBuffer {
 public:
  // bytes: of both groups (attentionScratchBytes() counts them)
  GroupBuffer(const KvPlanes& planes, std::byte* bytes)
      : m_planes(planes),
        m_codeBytes(static_cast<std::ptrdiff_t>(planes.codeBytes)),
        m_keys(bytes),
        m_values(bytes + kGroupTokens * (m_codeBytes + 2 * planes.numParameters)) {}

  void addKey(const std::byte* plane, int offset, int token) {
    const std::byte* codes = plane + offset * m_codeBytes;
    for (std::ptrdiff_t i = 0; i < m_codeBytes; ++i) m_keys[i * kGroupTokens + token] = codes[i];
    addParameters(plane, offset, token, m_keys);
  }

  void addValue(const std::byte* plane, int offset, int token) {
    __builtin_memcpy(m_values + token * m_codeBytes, plane + offset * m_codeBytes,
                     static_cast<std::size_t>(m_codeBytes));
    addParameters(plane, offset, token, m_values);
  }

  CodedGroup keys() const { return groupAt(m_keys); }

  CodedGroup values() const { return groupAt(m_values); }

 private:
  void addParameters(const std::byte* plane, int offset, int token, std::byte* to) const {
    const std::byte* from = plane + m_planes.blockSize * m_codeBytes + 2 * offset;
    to += kGroupTokens * m_codeBytes + 2 * token;
    for (int i = 0; i < m_planes.numParameters; ++i) {
      __builtin_memcpy(to + i * 2 * kGroupTokens, from + i * 2 * m_planes.blockSize, 2);
    }
  }

  CodedGroup groupAt(const std::byte* bytes) const {
    return {bytes, bytes + kGroupTokens * m_codeBytes, 2 * kGroupTokens};
  }

  const KvPlanes& m_planes;
  const std::ptrdiff_t m_codeBytes;
  std::byte* const m_keys;
  std::byte* const m_values;
};

template <typename V>
static inline typename V::Floats loadParameters(const std::byte* p) {
  return V::loadHalves(reinterpret_cast<const std::uint16_t*>(p));
}

static inline float parameterOf(const std::byte* p, int token) {
  std::uint16_t bits;
  __builtin_memcpy(&bits, p + 2 * token, 2);
  return floatOfF16(bits);
}

// A codec: keys into out [headDim][16], values into out [16][headDim] and up to a vector beyond.
template <typename V>
struct Fp8Codec {
  static void keys(const CodedGroup& group, int dim, float* out) {
    for (int i = 0; i < dim * kGroupTokens; i += V::kLanes) {
      V::store(out + i, V::loadFp8(group.codes + i));
    }
  }

  static void values(const CodedGroup& group, int dim, float* out) { keys(group, dim, out); }
};

template <typename V>
struct Int8Codec {
  static void keys(const CodedGroup& group, int dim, float* out) {
    for (int lane = 0; lane < kGroupTokens; lane += V::kLanes) {
      const auto scale = loadParameters<V>(group.parameter(0) + 2 * lane);
      for (int i = lane; i < dim * kGroupTokens; i += kGroupTokens) {
        V::store(out + i, V::mul(scale, V::loadInt8(group.codes + i)));
      }
    }
  }

  static void values(const CodedGroup& group, int dim, float* out) {
    for (int token = 0; token < kGroupTokens; ++token) {
      const auto scale = V::set(parameterOf(group.parameter(0), token));
      const std::byte* codes = group.codes + token * dim;
      for (int i = 0; i < dim; i += V::kLanes) {
        V::store(out + i, V::mul(scale, V::loadInt8(codes + i)));
      }
      out += dim;
    }
  }
};

// scale * code is exact, so the fused sum rounds as the plain one does.
template <typename V>
struct Int4Codec {
  using Floats = typename V::Floats;

  static void keys(const CodedGroup& group, int dim, float* out) {
    const int groups = int4Groups(dim), half = dim / groups / 2;
    const std::byte* codes = group.codes;
    for (int g = 0; g < groups; ++g) {
      for (int lane = 0; lane < kGroupTokens; lane += V::kLanes) {
        const Floats scale = loadParameters<V>(group.parameter(g) + 2 * lane);
        const Floats offset = loadParameters<V>(group.parameter(groups + g) + 2 * lane);
        for (int i = lane; i < half * kGroupTokens; i += kGroupTokens) {
          Floats low, high;
          V::loadNibbles(codes + i, low, high);
          V::store(out + i, V::fma(scale, low, offset));
          V::store(out + half * kGroupTokens + i, V::fma(scale, high, offset));
        }
      }
      codes += half * kGroupTokens;
      out += 2 * half * kGroupTokens;
    }
  }

  // A half's last vector may run over into what comes next, which is written after it.
  static void values(const CodedGroup& group, int dim, float* out) {
    const int groups = int4Groups(dim), half = dim / groups / 2;
    const std::byte* codes = group.codes;
    for (int token = 0; token < kGroupTokens; ++token) {
      for (int g = 0; g < groups; ++g) {
        const Floats scale = V::set(parameterOf(group.parameter(g), token));
        const Floats offset = V::set(parameterOf(group.parameter(groups + g), token));
        decodeHalves(codes, half, scale, offset, out);
        codes += half;
        out += 2 * half;
      }
    }
  }

 private:
  static inline void decodeHalves(
      const std::byte* codes, int half, Floats scale, Floats offset, float* out) {
    Floats low, high;
    if (half % V::kLanes == 0) {
      for (int i = 0; i < half; i += V::kLanes) {
        V::loadNibbles(codes + i, low, high);
        V::store(out + i, V::fma(scale, low, offset));
        V::store(out + half + i, V::fma(scale, high, offset));
      }
      return;
    }
    for (int i = 0; i < half; i += V::kLanes) {
      V::loadNibbles(codes + i, low, high);
      V::store(out + i, V::fma(scale, low, offset));
    }
    for (int i = 0; i < half; i += V::kLanes) {
      V::loadNibbles(codes + i, low, high);
      V::store(out + half + i, V::fma(scale, high, offset));
    }
  }
};

// Decoded codes are multiplied as f32: neither queries nor weights lose anything more.
template <typename V, typename C>
struct CodedForm : F32Form<V> {
  using Codec = C;
};

}  // namespace kernels::cpu
