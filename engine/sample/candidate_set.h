// The tokens still in the running for one draw, narrowed by the filters: the whole row as long as
// no filter acts, a short list afterwards. Never sorts the vocabulary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/ids.h"
#include "engine/sample/distribution.h"
#include "engine/sample/tiled_row.h"

namespace engine::sample {

struct Candidate {
  float logit = 0.0f;
  TokenId id = -1;

  // Rank order: larger logit first, lower id among equals.
  static bool ranksBefore(const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
  }
};

// A candidate's part of the unit interval that draw() maps to tokens: [before, before + own).
struct DrawShare {
  double before = 0, own = 0;
};

// Engine thread only; keeps its buffers between rows. Every filter keeps at least one token.
class CandidateSet {
 public:
  // Borrows the row until the next reset; minus infinity means "not a candidate".
  //   row: [vocabSize] f32, at least one finite value, none NaN or plus infinity
  //   tiles: what is known of each of its tiles, or nothing
  void reset(std::span<const float> row, std::span<const TileSummary> tiles = {});

  // Divides by temperature > 0, after shifting the largest logit to 0 so that nothing overflows.
  // Once a row.
  void divideBy(float temperature);
  void keepTopK(std::int64_t k);  // k >= 1
  void keepTopP(double p);        // smallest set of best ranks whose mass reaches p
  void keepMinP(double p);        // probability at least p times the largest; p > 0
  void keepTypicalP(double p);    // nearest to the entropy first, until their mass reaches p

  // The candidate at `u` in [0, 1) of the cumulated mass.
  TokenId draw(double u);

  // Where draw() gives this id; nothing of the interval when the id is no candidate.
  DrawShare shareOf(TokenId id) const;

  // Natural log of the candidates' sum of exponentials.
  double logSumExp() const;

  // The candidates by id, with weights relative to the best.
  std::vector<TokenShare> weights() const;

  // The `count` best in rank order (fewer when fewer are left); narrows nothing.
  std::vector<Candidate> best(std::size_t count) const;

  // What is left with its logits, in the set's own order. For tests and views.
  std::vector<Candidate> remaining() const;

 private:
  enum class Order : std::uint8_t { Id, Rank };

  float maxLogit() const;
  double sumOfWeights(float shift) const;
  std::vector<Candidate> atLeast(float least) const;
  // The fewest of the best, in rank order, that hold `share` of the mass.
  std::vector<Candidate> bestByMass(double share) const;
  void narrowTo(std::vector<Candidate> kept, Order order);
  TokenId drawFromRow(double u);
  TokenId drawFromList(double u) const;
  template <typename Visit>
  void forEach(Visit visit) const;  // visit(candidate)
  template <typename Visit>
  void forEachWeighted(float shift, Visit visit) const;  // visit(candidate, exp(logit - shift))

  TiledRow m_row;
  std::vector<Candidate> m_list;
  bool m_isList = false;
  Order m_order = Order::Id;
  std::vector<double> m_tileSums;  // scratch of drawFromRow
};

// The `count` best of a row in rank order (fewer when the row is shorter).
//   tiles: what is known of each of its tiles, or nothing
std::vector<Candidate> bestOfRow(std::span<const float> row,
                                 std::size_t count,
                                 std::span<const TileSummary> tiles = {});

}  // namespace engine::sample
