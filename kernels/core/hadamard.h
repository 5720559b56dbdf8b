// Rotation of a head's vector by Hadamard matrices, so that no element stands out when it is
// quantised.
#pragma once

namespace kernels {

// `static`, not merely inline: files built for different instruction sets each keep their own copy.

// Orders up to 256 of the form 2^k, 12 * 2^k, 20 * 2^k.
inline constexpr int kMaxHadamardOrder = 256;

static inline bool isHadamardOrder(int order) {
  const int base = order % 3 == 0 ? 12 : order % 5 == 0 ? 20 : 1;
  if (order < 1 || order > kMaxHadamardOrder || order % base != 0) return false;
  const int power = order / base;
  return (power & (power - 1)) == 0;
}

// The largest order that divides headDim: 64, 80, 96, 128 and 256 turn as a whole, 112 as seven
// blocks of 16, an odd size not at all (1).
static inline int hadamardOrderFor(int headDim) {
  int order = headDim < kMaxHadamardOrder ? headDim : kMaxHadamardOrder;
  while (order > 1 && (headDim % order != 0 || !isHadamardOrder(order))) --order;
  return order > 1 ? order : 1;
}

// Signs of the Paley matrix of order kBase = prime + 1 (12 or 20): I + S, where S is skew-symmetric:
// S[0][j] = 1, S[i][j] = +1 when i - j is a square modulo the prime, else -1.
template <int kBase>
struct PaleySigns {
  float sign[kBase][kBase];  // [row][column]
  float back[kBase][kBase];  // the transpose
};

template <int kBase>
constexpr PaleySigns<kBase> makePaleySigns() {
  constexpr int kPrime = kBase - 1;
  bool isSquare[kBase] = {};
  for (int i = 1; i < kPrime; ++i) isSquare[i * i % kPrime] = true;
  PaleySigns<kBase> made{};
  for (int row = 0; row < kBase; ++row) {
    for (int column = 0; column < kBase; ++column) {
      bool isPlus = row == column || row == 0;
      if (row != column && row > 0 && column > 0) {
        isPlus = isSquare[(row - column + kPrime) % kPrime];
      }
      made.sign[row][column] = made.back[column][row] = isPlus ? 1.0f : -1.0f;
    }
  }
  return made;
}

static constexpr PaleySigns<12> kPaley12 = makePaleySigns<12>();
static constexpr PaleySigns<20> kPaley20 = makePaleySigns<20>();

// Which way a vector turns: back is the transpose, and the inverse.
enum class Turn { Forth, Back };

// to = matrix * from, given the matrix's columns one after another.
template <int kBase>
static inline void multiplyColumns(const float (&columns)[kBase][kBase], const float* from, float* to) {
  for (int row = 0; row < kBase; ++row) to[row] = 0.0f;
  for (int column = 0; column < kBase; ++column) {
    for (int row = 0; row < kBase; ++row) to[row] += columns[column][row] * from[column];
  }
}

static inline void multiplyPaley(const float* from, int base, Turn turn, float* to) {
  const bool isForth = turn == Turn::Forth;
  if (base == 12) {
    multiplyColumns<12>(isForth ? kPaley12.back : kPaley12.sign, from, to);
  } else {
    multiplyColumns<20>(isForth ? kPaley20.back : kPaley20.sign, from, to);
  }
}

// One step of the fast transform over rows of `width` elements, in the constant geometry whose
// log2(count) steps end in natural order.
static inline void addPairs(const float* from, int count, int width, float* to) {
  const int half = count / 2 * width;
  for (int i = 0; i < count / 2; ++i, from += 2 * width, to += width) {
    for (int j = 0; j < width; ++j) {
      to[j] = from[j] + from[width + j];
      to[j + half] = from[j] - from[width + j];
    }
  }
}

static inline void addNeighbours(const float* from, int count, float* to) {
  for (int i = 0; i < count / 2; ++i) {
    to[i] = from[2 * i] + from[2 * i + 1];
    to[i + count / 2] = from[2 * i] - from[2 * i + 1];
  }
}

// One block of `order` elements; the same additions in the same order for every instruction set.
static inline void turnBlock(float* x, int order, Turn turn) {
  alignas(64) float spare[kMaxHadamardOrder];
  const int base = order % 3 == 0 ? 12 : order % 5 == 0 ? 20 : 1;
  const int count = order / base;
  float *from = x, *to = spare;
  for (int step = 1; step < count; step *= 2) {
    if (base == 1) {
      addNeighbours(from, count, to);
    } else {
      addPairs(from, count, base, to);
    }
    float* swapped = from;
    from = to;
    to = swapped;
  }
  if (base > 1) {
    for (int i = 0; i < order; i += base) multiplyPaley(from + i, base, turn, to + i);
    from = to;
  }
  const float factor = 1.0f / __builtin_sqrtf(static_cast<float>(order));
  for (int i = 0; i < order; ++i) x[i] = from[i] * factor;
}

// In place; orthogonal, so a dot product of two turned vectors is that of the vectors.
static inline void turnHead(float* x, int headDim, Turn turn) {
  const int order = hadamardOrderFor(headDim);
  if (order == 1) return;
  for (int i = 0; i < headDim; i += order) turnBlock(x + i, order, turn);
}

}  // namespace kernels
