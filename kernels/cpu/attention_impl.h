// AttentionKernels over a vector type; included by the attention file of each instruction set.
#pragma once

#include "kernels/cpu/attention.h"
#include "kernels/cpu/attention_kv_forms.h"
#include "kernels/cpu/attention_steps.h"
#include "kernels/cpu/vector_math.h"

namespace kernels::cpu {

// A row's softmax on the way: weights are 2^(score - top), total is their sum, sums theirs times V.
struct SoftmaxState {
  float* sums = nullptr;    // [rows, paddedHeadDim]
  float* tops = nullptr;    // [rows]
  float* totals = nullptr;  // [rows]
};

// Lines of the next step that are asked for before each product of a panel: of few rows, a step is
// about dim of them and 4 dim lines.
inline constexpr int kLinesPerPanelStep = 4;

// sums[r][c] += factors[r] . columns[c], over `numSteps` steps of Form::kDepth elements.
template <typename Form, PairPart kPart, int R, int C>
static inline void multiplyPanel(typename Form::Floats (&sums)[R][C],
                                 const typename Form::Factor* factors,
                                 std::ptrdiff_t factorStride,
                                 const typename Form::Element* const (&columns)[C],
                                 std::ptrdiff_t columnStride,
                                 int numSteps,
                                 FetchAhead& ahead) {
  for (int step = 0; step < numSteps; ++step) {
    ahead.ask(kLinesPerPanelStep);
    typename Form::Column column[C];
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c)
      column[c] = Form::template load<kPart>(columns[c] + step * columnStride);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const auto factor = Form::spread(factors + r * factorStride + step * Form::kDepth);
#pragma GCC unroll 4
      for (int c = 0; c < C; ++c) sums[r][c] = Form::multiplyAdd(sums[r][c], column[c], factor);
    }
  }
}

// Columns that R rows work on at once.
template <typename V, int R>
static constexpr int panelColumns() {
  return R * 4 <= V::kMaxSums ? 4 : R * 2 <= V::kMaxSums ? 2 : 1;
}

// What a form needs around a segment: nothing, or a state of the processor.
template <typename Form>
struct NoSession {
  explicit NoSession(int /*numRows*/) {}
};

template <typename Form>
struct SessionChoice {
  using Type = NoSession<Form>;
};

template <typename Form>
requires requires {
  typename Form::Session;
}

struct SessionChoice<Form> {
  using Type = typename Form::Session;
};

template <typename Form>
using SessionOf = typename SessionChoice<Form>::Type;

template <typename Form>
class AttentionLoop {
  using V = typename Form::Vector;
  using Floats = typename V::Floats;
  using Element = typename Form::Element;
  using Factor = typename Form::Factor;
  using Step = KeyStep<Element>;
  static constexpr int kLanes = V::kLanes;
  static constexpr int kMaxTile = 8;
  static constexpr int kTileRows = 16;  // of a tile register
  static constexpr int kStepVectors = kStepTokens / kLanes;
  static constexpr float kLog2e = 1.44269504f;
  static constexpr bool kHasTiles = requires { typename Form::Tiles; };  // see attention_tiles.h

 public:
  AttentionLoop(const AttentionItem& item, std::byte* scratch)
      : m_item(item),
        m_dim(item.planes.headDim),
        m_padded(paddedHeadDim(item.planes.headDim)),
        m_numRows(item.numQueries * item.headsPerKv),
        m_state(takeState(scratch)),
        m_folded(takeState(scratch)),
        m_factors(take<Factor>(scratch, kMaxItemRows * m_dim)),
        m_reader(makeReader(scratch)) {}

  void run() {
    for (int row = 0; row < m_numRows; ++row) {
      const float* query = m_item.queries + row / m_item.headsPerKv * m_item.queryStride +
                           static_cast<std::ptrdiff_t>(row % m_item.headsPerKv) * m_dim;
      Form::toFactors(query, m_dim, m_factors + static_cast<std::ptrdiff_t>(row) * m_dim);
    }
    if (m_item.partials) {
      runSegment(m_item.segment);
      storePartials();
      return;
    }
    runSegments();
    for (int row = 0; row < m_numRows; ++row) {
      finishRow(m_folded.sums + row * m_padded, m_folded.totals[row], m_dim,
                m_item.out + row / m_item.headsPerKv * m_item.outStride +
                    static_cast<std::ptrdiff_t>(row % m_item.headsPerKv) * m_dim);
    }
  }

  // Adds a segment (sums, top, total) to what was folded before it.
  static void foldRow(const float* sums,
                      float top,
                      float total,
                      float* foldedSums,
                      float& foldedTop,
                      float& foldedTotal,
                      int padded) {
    if (top == -__builtin_inff()) return;
    const float newTop = top > foldedTop ? top : foldedTop;
    float weights[kLanes] = {foldedTop - newTop, top - newTop};
    V::store(weights, exp2Of<V>(V::load(weights)));
    const Floats old = V::set(weights[0]), added = V::set(weights[1]);
    for (int i = 0; i < padded; i += kLanes) {
      V::store(foldedSums + i,
               V::fma(V::load(sums + i), added, V::mul(V::load(foldedSums + i), old)));
    }
    foldedTotal = foldedTotal * weights[0] + total * weights[1];
    foldedTop = newTop;
  }

  static void finishRow(const float* sums, float total, int dim, float* out) {
    const Floats inverse = V::set(1.0f / total);
    // A sum that was flushed keeps its sign until a masked token adds its +0: which rows are worked
    // on together must not show, so that zeros are +0 here.
    const auto mean = [&](int i) { return V::add(V::mul(V::load(sums + i), inverse), V::zero()); };
    int i = 0;
    for (; i + kLanes <= dim; i += kLanes) V::store(out + i, mean(i));
    float rest[kLanes];
    if (i < dim) V::store(rest, mean(i));
    for (int j = 0; i + j < dim; ++j) out[i + j] = rest[j];
  }

 private:
  void runSegments() {
    const int firstSegment = firstVisible(m_item.firstPosition, m_item.window) / kSegmentTokens;
    for (int segment = firstSegment; segment <= lastPositionOf(m_item) / kSegmentTokens;
         ++segment) {
      runSegment(segment);
      if (segment == firstSegment) {
        const SoftmaxState empty = m_folded;
        m_folded = m_state;
        m_state = empty;
      } else {
        for (int row = 0; row < m_numRows; ++row) {
          foldRow(m_state.sums + row * m_padded, m_state.tops[row], m_state.totals[row],
                  m_folded.sums + row * m_padded, m_folded.tops[row], m_folded.totals[row],
                  m_padded);
        }
      }
    }
  }

  template <typename T>
  static T* take(std::byte*& scratch, std::ptrdiff_t count) {
    T* taken = reinterpret_cast<T*>(scratch);
    scratch += (count * static_cast<std::ptrdiff_t>(sizeof(T)) + 63) / 64 * 64;
    return taken;
  }

  SoftmaxState takeState(std::byte*& scratch) const {
    SoftmaxState state;
    state.sums = take<float>(scratch, static_cast<std::ptrdiff_t>(kMaxItemRows) * m_padded);
    state.tops = take<float>(scratch, kMaxItemRows);
    state.totals = take<float>(scratch, kMaxItemRows);
    return state;
  }

  KeyStepReader<Form> makeReader(std::byte*& scratch) const {
    Element* keys = take<Element>(scratch, kStepTokens * m_dim);
    Element* values = take<Element>(scratch, kStepTokens * m_dim + 64);
    return {m_item, keys, values, scratch};
  }

  int positionOf(int row) const { return m_item.firstPosition + row / m_item.headsPerKv; }

  void runSegment(int segment) {
    [[maybe_unused]] const SessionOf<Form> session(m_numRows);
    for (int i = 0; i < m_numRows * m_padded; i += kLanes) V::store(m_state.sums + i, V::zero());
    for (int row = 0; row < m_numRows; ++row) {
      m_state.tops[row] = -__builtin_inff();
      m_state.totals[row] = 0.0f;
    }
    const int first = firstVisible(m_item.firstPosition, m_item.window);
    for (int i = 0; i < kSegmentTokens / kStepTokens; ++i) {
      const int begin = segment * kSegmentTokens + i * kStepTokens;
      if (begin > lastPositionOf(m_item) || begin + kStepTokens <= first) continue;
      Step step;
      m_reader.read(begin, step);
      aimAhead(begin + kStepTokens, (segment + 1) * kSegmentTokens);
      runTiles(step);
      m_ahead.askForAll();
    }
  }

  // The item's next step, or what comes after it.
  void aimAhead(int begin, int segmentEnd) {
    const bool isItemOver =
        begin > lastPositionOf(m_item) || (m_item.partials && begin == segmentEnd);
    if (!isItemOver) {
      m_ahead.aim(m_item, begin);
    } else if (m_item.next) {
      m_ahead.aim(*m_item.next, firstStepOf(*m_item.next));
    }
  }

  void runTiles(const Step& step) {
    for (int row = 0; row < m_numRows;) {
      const int left = m_numRows - row;
      const int count = kHasTiles          ? (left < kTileRows ? left : kTileRows)
                        : left <= kMaxTile ? left
                                           : 6;
      const bool isMasked =
          step.begin > positionOf(row + count - 1) ||
          step.begin + kStepTokens <= firstVisible(positionOf(row), m_item.window);
      if (!isMasked) runTile(count, step, row);
      row += count;
    }
  }

  void runTile(int count, const Step& step, int row) {
    if constexpr (kHasTiles) {
      return runTileRegisters(count, step, row);
    } else {
      return runPanel(count, step, row);
    }
  }

  void runPanel(int count, const Step& step, int row) {
    switch (count) {
      case 1:
        return tile<1>(step, row);
      case 2:
        return tile<2>(step, row);
      case 3:
        return tile<3>(step, row);
      case 4:
        return tile<4>(step, row);
      case 5:
        return tile<5>(step, row);
      case 6:
        return tile<6>(step, row);
      case 7:
        return tile<7>(step, row);
      default:
        return tile<8>(step, row);
    }
  }

  // Sixteen rows at once, or fewer; what the registers hold beyond `count` is never used.
  void runTileRegisters(int count, const Step& step, int row) {
    alignas(64) float scores[kTileRows][kStepTokens];
    alignas(64) Factor weights[kTileRows][kStepTokens];
    using Tiles = typename Form::Tiles;
    Tiles::score(step.keys, m_factors + static_cast<std::ptrdiff_t>(row) * m_dim, m_dim, scores[0],
                 m_ahead);
    soften(step, row, count, scores, weights);
    const int firstGroup = step.first / kGroupTokens, lastGroup = (step.end - 1) / kGroupTokens;
    Tiles::accumulate(step.values, firstGroup, lastGroup, weights[0], m_dim,
                      m_state.sums + static_cast<std::ptrdiff_t>(row) * m_padded, m_ahead);
  }

  template <int R>
  void tile(const Step& step, int row) {
    alignas(64) float scores[R][kStepTokens];
    alignas(64) Factor weights[R][kStepTokens];
    score<R>(step, row, scores);
    soften(step, row, R, scores, weights);
    Step seen = step;  // by these rows: the rest weighs nothing
    const int first = firstVisible(positionOf(row), m_item.window) - step.begin;
    const int end = positionOf(row + R - 1) + 1 - step.begin;
    if (first > seen.first) seen.first = first;
    if (end < seen.end) seen.end = end;
    accumulate<R>(seen, row, weights);
  }

  template <int R>
  void score(const Step& step, int row, float (&scores)[R][kStepTokens]) {
    constexpr int kColumns = panelColumns<V, R>();
    for (int first = 0; first < kStepVectors; first += kColumns) {
      const Element* columns[kColumns];
      Floats sums[R][kColumns];
      for (int c = 0; c < kColumns; ++c) {
        const int token = (first + c) * kLanes;
        columns[c] = step.keys[token / kGroupTokens] + token % kGroupTokens * Form::kDepth;
        for (int r = 0; r < R; ++r) sums[r][c] = V::zero();
      }
      multiplyPanel<Form, PairPart::Both, R, kColumns>(
          sums, m_factors + static_cast<std::ptrdiff_t>(row) * m_dim, m_dim, columns,
          kGroupTokens * Form::kDepth, m_dim / Form::kDepth, m_ahead);
      for (int r = 0; r < R; ++r) {
        for (int c = 0; c < kColumns; ++c) V::store(&scores[r][(first + c) * kLanes], sums[r][c]);
      }
    }
  }

  // Scaled, capped and masked scores of one row in units of log2; returns the largest.
  float finishScores(const Step& step, int row, float* scores) const {
    const int position = positionOf(row);
    const int begin = firstVisible(position, m_item.window) - step.begin;
    const int end = position + 1 - step.begin;
    const bool isPart = begin > 0 || end < kStepTokens;
    const bool isCapped = m_item.softCap != 0.0f;
    const Floats factor = V::set(isCapped ? m_item.scale / m_item.softCap : m_item.scale * kLog2e);
    const Floats cap = V::set(m_item.softCap * kLog2e);
    Floats top = V::set(-__builtin_inff());
    for (int i = 0; i < kStepTokens; i += kLanes) {
      Floats s = V::mul(V::load(scores + i), factor);
      if (isCapped) s = V::mul(cap, tanhOf<V>(s));
      if (isPart) s = V::keepLanes(s, begin - i, end - i);
      V::store(scores + i, s);
      top = V::max(top, s);
    }
    return V::top(top);
  }

  // Turns scores into weights and moves the rows' tops, totals and sums on to them.
  inline __attribute__((always_inline)) void soften(const Step& step,
                                                    int row,
                                                    int count,
                                                    float (*scores)[kStepTokens],
                                                    Factor (*weights)[kStepTokens]) {
    alignas(64) float moved[kLanes] = {};
    for (int r = 0; r < count; ++r) {
      const float old = m_state.tops[row + r], found = finishScores(step, row + r, scores[r]);
      m_state.tops[row + r] = found > old ? found : old;
      moved[r] = m_state.tops[row + r] == old ? 0.0f : old - m_state.tops[row + r];
    }
    V::store(moved, exp2Of<V>(V::load(moved)));
    for (int r = 0; r < count; ++r) {
      const float top = m_state.tops[row + r];
      const Floats shift = V::set(top == -__builtin_inff() ? 0.0f : top);
      Floats total = V::zero();
      for (int i = 0; i < kStepTokens; i += kLanes) {
        const Floats weight = exp2Of<V>(V::sub(V::load(&scores[r][i]), shift));
        total = V::add(total, Form::storeWeights(weight, &weights[r][i]));
      }
      m_state.totals[row + r] = m_state.totals[row + r] * moved[r] + V::sum(total);
      if (moved[r] != 1.0f) scaleSums(row + r, moved[r]);
    }
  }

  void scaleSums(int row, float factor) {
    float* sums = m_state.sums + static_cast<std::ptrdiff_t>(row) * m_padded;
    const Floats f = V::set(factor);
    for (int i = 0; i < m_padded; i += kLanes) V::store(sums + i, V::mul(V::load(sums + i), f));
  }

  template <int R>
  void accumulate(const Step& step, int row, const Factor (&weights)[R][kStepTokens]) {
    constexpr int kColumns = panelColumns<V, R>();
    int d = 0;
    for (; d + kColumns * kLanes <= m_padded; d += kColumns * kLanes) {
      accumulateColumns<R, kColumns>(step, row, weights, d);
    }
    for (; d < m_padded; d += kLanes) accumulateColumns<R, 1>(step, row, weights, d);
  }

  template <int R, int C>
  void accumulateColumns(const Step& step,
                         int row,
                         const Factor (&weights)[R][kStepTokens],
                         int d) {
    constexpr int kDepth = Form::kDepth;
    float* at = m_state.sums + static_cast<std::ptrdiff_t>(row) * m_padded + d;
    Floats sums[R][C];
    for (int r = 0; r < R; ++r) {
      for (int c = 0; c < C; ++c) sums[r][c] = V::load(at + r * m_padded + c * kLanes);
    }
    for (int group = 0; group < Step::kGroups; ++group) {
      const int low = step.first - group * kGroupTokens, high = step.end - group * kGroupTokens;
      const int begin = low > 0 ? low : 0, end = high < kGroupTokens ? high : kGroupTokens;
      if (begin >= end) continue;
      const Element* columns[C];
      const auto pointTo = [&](int token) {
        for (int c = 0; c < C; ++c) {
          columns[c] =
              step.values[group] + token / kDepth * kDepth * m_dim + (d + c * kLanes) * kDepth;
        }
        return &weights[0][group * kGroupTokens + token / kDepth * kDepth];
      };
      const int wholeBegin = (begin + kDepth - 1) / kDepth, wholeEnd = end / kDepth;
      // The other half of a cut pair may be anything, even NaN: it is never multiplied.
      if (begin % kDepth != 0) {
        multiplyPanel<Form, PairPart::Second, R, C>(sums, pointTo(begin), kStepTokens, columns, 0,
                                                    1, m_ahead);
      }
      const Factor* factors = pointTo(wholeBegin * kDepth);
      multiplyPanel<Form, PairPart::Both, R, C>(sums, factors, kStepTokens, columns, kDepth * m_dim,
                                                wholeEnd - wholeBegin, m_ahead);
      if (end % kDepth != 0) {
        multiplyPanel<Form, PairPart::First, R, C>(sums, pointTo(end), kStepTokens, columns, 0, 1,
                                                   m_ahead);
      }
    }
    for (int r = 0; r < R; ++r) {
      for (int c = 0; c < C; ++c) V::store(at + r * m_padded + c * kLanes, sums[r][c]);
    }
  }

  void storePartials() const {
    for (int row = 0; row < m_numRows; ++row) {
      float* to = m_item.partials + row * m_item.partialStride;
      const float* sums = m_state.sums + static_cast<std::ptrdiff_t>(row) * m_padded;
      for (int i = 0; i < m_padded; i += kLanes) V::store(to + i, V::load(sums + i));
      to[m_padded] = m_state.tops[row];
      to[m_padded + 1] = m_state.totals[row];
    }
  }

  const AttentionItem& m_item;
  const int m_dim, m_padded, m_numRows;
  SoftmaxState m_state, m_folded;  // of the segment in hand; of those before it
  Factor* const m_factors;         // queries as the products take them, [rows, headDim]
  KeyStepReader<Form> m_reader;
  FetchAhead m_ahead;
};

template <typename Form>
static void mergePartials(const AttentionMerge& merge, std::byte* scratch) {
  using Loop = AttentionLoop<Form>;
  using V = typename Form::Vector;
  const int padded = paddedHeadDim(merge.headDim);
  float* sums = reinterpret_cast<float*>(scratch);
  for (int i = 0; i < padded; i += V::kLanes) V::store(sums + i, V::load(merge.partials + i));
  float top = merge.partials[padded], total = merge.partials[padded + 1];
  for (int segment = 1; segment < merge.numSegments; ++segment) {
    const float* next = merge.partials + segment * merge.segmentStride;
    Loop::foldRow(next, next[padded], next[padded + 1], sums, top, total, padded);
  }
  Loop::finishRow(sums, total, merge.headDim, merge.out);
}

}  // namespace kernels::cpu
