#include "engine/sample/candidate_set.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "engine/base/check.h"
#include "engine/sample/column_tiles.h"

namespace engine::sample {

namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
// a function's address would be called, this is compiled into the sort
constexpr auto kByRank = [](const Candidate& a, const Candidate& b) {
  return Candidate::ranksBefore(a, b);
};
constexpr int kNumBuckets = 256;
constexpr float kBucketsPerNat = 8.0f;

// Distance below the largest logit in eighths of a nat; never falls as the logit falls.
int bucketOf(float max, float logit) {
  return static_cast<int>(std::min(float{kNumBuckets - 1}, (max - logit) * kBucketsPerNat));
}

// First bucket at which the running sum reaches `target`; the last one when none does.
template <typename T>
int firstBucketReaching(const std::array<T, kNumBuckets>& buckets, T target) {
  T sum{};
  for (int i = 0; i < kNumBuckets; ++i) {
    sum += buckets[static_cast<std::size_t>(i)];
    if (sum >= target) return i;
  }
  return kNumBuckets - 1;
}

// Trims `found` to its `count` best, in rank order.
void keepBest(std::vector<Candidate>& found, std::size_t count) {
  if (found.size() > count) {
    std::nth_element(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(count), found.end(),
                     kByRank);
    found.resize(count);
  }
  std::sort(found.begin(), found.end(), kByRank);
}

// The `count` best of what forEach(visit) visits, in rank order, found without sorting all of it.
template <typename ForEach>
std::vector<Candidate> bestAmong(ForEach forEach, float max, std::size_t count) {
  std::array<std::size_t, kNumBuckets> counts{};
  forEach([&](const Candidate& c) { ++counts[static_cast<std::size_t>(bucketOf(max, c.logit))]; });
  const int last = firstBucketReaching(counts, count);
  std::vector<Candidate> found;
  forEach([&](const Candidate& c) {
    if (bucketOf(max, c.logit) <= last) found.push_back(c);
  });
  keepBest(found, count);
  return found;
}

// Calls visit(candidate) for every candidate of a row that reaches `least`, by id.
template <typename Visit>
void forEachOfRow(const TiledRow& row, float least, Visit visit) {
  row.forEachAtLeast(least, [&](float logit, std::size_t column) {
    visit(Candidate{logit, static_cast<TokenId>(column)});
  });
}

std::vector<Candidate> bestOf(const TiledRow& row, std::size_t count) {
  if (count > row.numTiles()) {
    return bestAmong([&row](auto visit) { forEachOfRow(row, kMinusInfinity, visit); }, row.top(),
                     count);
  }
  std::vector<Candidate> found;
  forEachOfRow(row, row.reachedBy(count), [&](const Candidate& c) { found.push_back(c); });
  keepBest(found, count);
  return found;
}

// The shortest start of a rank-ordered list that holds `mass`; at least one. Weights are taken
// relative to `shift`.
std::size_t lengthHoldingMass(std::span<const Candidate> ranked,
                              float shift,
                              double mass,
                              double* reached) {
  double sum = 0.0;
  std::size_t length = 0;
  while (length < ranked.size() && (length == 0 || sum < mass)) {
    sum += std::exp(double{ranked[length].logit} - double{shift});
    ++length;
  }
  *reached = sum;
  return length;
}

// What the candidates of each bucket weigh together, as if each lay in its bucket's middle.
std::array<double, kNumBuckets> bucketMasses(const std::vector<Candidate>& found, float max) {
  std::array<double, kNumBuckets> masses{};
  for (const Candidate& c : found) masses[static_cast<std::size_t>(bucketOf(max, c.logit))] += 1.0;
  for (int i = 0; i < kNumBuckets; ++i) {
    double& mass = masses[static_cast<std::size_t>(i)];
    if (mass > 0.0) mass *= std::exp(-(i + 0.5) / double{kBucketsPerNat});
  }
  return masses;
}

// Trims `found`, all that reach some logit, to the fewest of the best that hold `mass`, in rank
// order. False when together they do not, unless they are all there is (isAll).
bool bestByMassAmong(std::vector<Candidate>& found, float max, double mass, bool isAll) {
  const std::array<double, kNumBuckets> masses = bucketMasses(found, max);
  // no candidate weighs more than this many middles of its bucket
  const double most = std::exp(0.5 / double{kBucketsPerNat});
  if (!isAll && most * std::accumulate(masses.begin(), masses.end(), 0.0) < mass) return false;
  // a little further than the middles say, and on where that is not enough
  for (int last = firstBucketReaching(masses, mass) + 1;; last += 2) {
    const auto end = std::partition(found.begin(), found.end(), [&](const Candidate& c) {
      return bucketOf(max, c.logit) <= last;
    });
    std::sort(found.begin(), end, kByRank);
    double reached = 0.0;
    const std::size_t length = lengthHoldingMass({found.begin(), end}, max, mass, &reached);
    if (reached < mass && end != found.end()) continue;
    found.resize(length);
    return reached >= mass || isAll;
  }
}

}  // namespace

void CandidateSet::reset(std::span<const float> row, std::span<const TileSummary> tiles) {
  m_row.reset(row, tiles);
  m_list.clear();
  m_isList = false;
  m_order = Order::Id;
}

template <typename Visit>
void CandidateSet::forEach(Visit visit) const {
  if (m_isList) {
    for (const Candidate& candidate : m_list) visit(candidate);
  } else {
    forEachOfRow(m_row, kMinusInfinity, visit);
  }
}

template <typename Visit>
void CandidateSet::forEachWeighted(float shift, Visit visit) const {
  if (m_isList) {
    for (const Candidate& c : m_list) visit(c, std::exp(double{c.logit} - double{shift}));
    return;
  }
  alignas(64) float buffer[kColumnTile];
  alignas(64) float weights[kColumnTile];
  for (std::size_t tile = 0; tile < m_row.numTiles(); ++tile) {
    const std::span<const float> logits = m_row.tile(tile, buffer);
    expTile(logits.data(), logits.size(), shift, weights);
    for (std::size_t i = 0; i < logits.size(); ++i) {
      if (logits[i] == kMinusInfinity) continue;
      visit(Candidate{logits[i], static_cast<TokenId>(tile * kColumnTile + i)}, weights[i]);
    }
  }
}

float CandidateSet::maxLogit() const {
  if (!m_isList) return m_row.top();
  float max = kMinusInfinity;
  for (const Candidate& candidate : m_list) max = std::max(max, candidate.logit);
  return max;
}

double CandidateSet::sumOfWeights(float shift) const {
  double sum = 0.0;
  if (m_isList) {
    for (const Candidate& c : m_list) sum += std::exp(double{c.logit} - double{shift});
    return sum;
  }
  alignas(64) float buffer[kColumnTile];
  alignas(64) float weights[kColumnTile];
  for (std::size_t tile = 0; tile < m_row.numTiles(); ++tile) {
    const std::span<const float> logits = m_row.tile(tile, buffer);
    sum += double{expTile(logits.data(), logits.size(), shift, weights)};
  }
  return sum;
}

void CandidateSet::divideBy(float temperature) {
  if (!m_isList) return m_row.divideBy(temperature);
  const float max = maxLogit();
  for (Candidate& candidate : m_list) candidate.logit = (candidate.logit - max) / temperature;
}

std::vector<Candidate> CandidateSet::best(std::size_t count) const {
  if (!m_isList) return bestOf(m_row, count);
  return bestAmong([this](auto visit) { forEach(visit); }, maxLogit(), count);
}

// In the set's own order.
std::vector<Candidate> CandidateSet::atLeast(float least) const {
  std::vector<Candidate> found;
  const auto add = [&](const Candidate& c) {
    if (c.logit >= least) found.push_back(c);
  };
  m_isList ? forEach(add) : forEachOfRow(m_row, least, add);
  return found;
}

// Looks at those near the best first, which mostly hold enough; the last look is at all.
std::vector<Candidate> CandidateSet::bestByMass(double share) const {
  constexpr float kFirstReach = 4.0f, kLastReach = 40.0f;  // nats below the best
  const float max = maxLogit();
  const double mass = share * sumOfWeights(max);
  for (float reach = kFirstReach;; reach *= 1.5f) {
    const bool isLast = reach > kLastReach;
    std::vector<Candidate> near = atLeast(isLast ? kMinusInfinity : max - reach);
    if (bestByMassAmong(near, max, mass, isLast)) return near;
  }
}

void CandidateSet::narrowTo(std::vector<Candidate> kept, Order order) {
  CHECK(!kept.empty());
  m_list = std::move(kept);
  m_isList = true;
  m_order = order;
}

void CandidateSet::keepTopK(std::int64_t k) {
  const auto count = static_cast<std::size_t>(k);
  if (count >= (m_isList ? m_list.size() : m_row.size())) return;
  narrowTo(best(count), Order::Rank);
}

void CandidateSet::keepTopP(double p) {
  if (!m_isList || m_order == Order::Id) {
    narrowTo(bestByMass(p), Order::Rank);
    return;
  }
  const float max = m_list.front().logit;
  double reached = 0.0;
  m_list.resize(lengthHoldingMass(m_list, max, p * sumOfWeights(max), &reached));
}

void CandidateSet::keepMinP(double p) {
  const double threshold = double{maxLogit()} + std::log(p);
  // rounded down, so that none is lost here
  std::vector<Candidate> kept =
      atLeast(std::nextafter(static_cast<float>(threshold), kMinusInfinity));
  std::erase_if(kept, [&](const Candidate& c) { return double{c.logit} < threshold; });
  narrowTo(std::move(kept), m_order);
}

namespace {

struct Scored {
  double distance, weight;
  Candidate candidate;

  static bool isNearer(const Scored& a, const Scored& b) {
    return a.distance != b.distance ? a.distance < b.distance : a.candidate.id < b.candidate.id;
  }
};

// The nearest until their weights reach p, at least one; sorts a growing front, not all.
std::vector<Candidate> nearestHoldingMass(std::vector<Scored>& scored, double p) {
  std::vector<Candidate> kept;
  double mass = 0.0;
  std::size_t sorted = 0;
  for (std::size_t step = 256; sorted < scored.size() && (kept.empty() || mass < p); step *= 4) {
    const auto begin = scored.begin() + static_cast<std::ptrdiff_t>(sorted);
    sorted = std::min(scored.size(), sorted + step);
    const auto end = scored.begin() + static_cast<std::ptrdiff_t>(sorted);
    std::nth_element(begin, end - 1, scored.end(), Scored::isNearer);
    std::sort(begin, end, Scored::isNearer);
    for (auto it = begin; it != end && (kept.empty() || mass < p); ++it) {
      mass += it->weight;
      kept.push_back(it->candidate);
    }
  }
  return kept;
}

}  // namespace

void CandidateSet::keepTypicalP(double p) {
  const float max = maxLogit();
  const double total = sumOfWeights(max);
  const double logTotal = std::log(total);
  std::vector<Scored> scored;
  double entropy = 0.0;
  forEachWeighted(max, [&](const Candidate& c, double weight) {
    const double surprise = logTotal - (double{c.logit} - double{max});
    entropy += weight / total * surprise;
    scored.push_back({surprise, weight / total, c});
  });
  for (Scored& s : scored) s.distance = std::abs(s.distance - entropy);
  std::vector<Candidate> kept = nearestHoldingMass(scored, p);
  std::sort(kept.begin(), kept.end(), kByRank);
  narrowTo(std::move(kept), Order::Rank);
}

TokenId CandidateSet::draw(double u) {
  return m_isList ? drawFromList(u) : drawFromRow(u);
}

DrawShare CandidateSet::shareOf(TokenId id) const {
  DrawShare share;
  double sum = 0.0;
  forEachWeighted(maxLogit(), [&](const Candidate& c, double weight) {
    if (c.id == id) share = {sum, weight};
    sum += weight;
  });
  return {share.before / sum, share.own / sum};
}

double CandidateSet::logSumExp() const {
  const float max = maxLogit();
  return double{max} + std::log(sumOfWeights(max));
}

std::vector<TokenShare> CandidateSet::weights() const {
  std::vector<TokenShare> all;
  forEachWeighted(maxLogit(), [&](const Candidate& c, double weight) {
    all.push_back({c.id, static_cast<float>(weight)});
  });
  return all;
}

TokenId CandidateSet::drawFromList(double u) const {
  const float max = maxLogit();
  double left = u * sumOfWeights(max);
  for (const Candidate& c : m_list) {
    left -= std::exp(double{c.logit} - double{max});
    if (left < 0.0) return c.id;
  }
  return m_list.back().id;
}

TokenId CandidateSet::drawFromRow(double u) {
  const float max = maxLogit();
  alignas(64) float buffer[kColumnTile];
  alignas(64) float weights[kColumnTile];
  const auto weigh = [&](std::size_t tile) {
    const std::span<const float> logits = m_row.tile(tile, buffer);
    return double{expTile(logits.data(), logits.size(), max, weights)};
  };
  m_tileSums.clear();
  double total = 0.0;
  for (std::size_t tile = 0; tile < m_row.numTiles(); ++tile) {
    m_tileSums.push_back(weigh(tile));
    total += m_tileSums.back();
  }
  double left = u * total;
  std::size_t tile = 0;  // where the draw falls
  std::size_t last = 0;  // last tile with any mass: where rounding ends when u is next to 1
  for (; tile < m_tileSums.size() && left >= m_tileSums[tile]; ++tile) {
    left -= m_tileSums[tile];
    if (m_tileSums[tile] > 0.0) last = tile;
  }
  if (tile == m_tileSums.size()) tile = last;
  weigh(tile);
  std::size_t drawn = 0;
  for (std::size_t i = 0; i < kColumnTile && left >= 0.0; ++i) {
    if (weights[i] == 0.0f) continue;
    drawn = i;
    left -= double{weights[i]};
  }
  return static_cast<TokenId>(tile * kColumnTile + drawn);
}

std::vector<Candidate> CandidateSet::remaining() const {
  std::vector<Candidate> result;
  forEach([&](const Candidate& c) { result.push_back(c); });
  return result;
}

std::vector<Candidate> bestOfRow(std::span<const float> row,
                                 std::size_t count,
                                 std::span<const TileSummary> tiles) {
  TiledRow tiled;
  tiled.reset(row, tiles);
  return bestOf(tiled, count);
}

}  // namespace engine::sample
