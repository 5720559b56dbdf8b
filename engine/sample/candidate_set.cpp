#include "engine/sample/candidate_set.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/base/check.h"
#include "engine/sample/column_tiles.h"

namespace engine::sample {

namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
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

// Calls visit(candidate) for every candidate of a row, by id.
template <typename Visit>
void forEachOfRow(std::span<const float> row, Visit visit) {
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (row[i] != kMinusInfinity) visit(Candidate{row[i], static_cast<TokenId>(i)});
  }
}

// Trims `found` to its `count` best, in rank order.
void keepBest(std::vector<Candidate>& found, std::size_t count) {
  if (found.size() > count) {
    std::nth_element(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(count), found.end(),
                     Candidate::ranksBefore);
    found.resize(count);
  }
  std::sort(found.begin(), found.end(), Candidate::ranksBefore);
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

float maxOfRow(std::span<const float> row) {
  float max = kMinusInfinity;
  for (std::size_t begin = 0; begin < row.size(); begin += kColumnTile) {
    max = std::max(max, maxOfTile(row.data() + begin, std::min(kColumnTile, row.size() - begin)));
  }
  return max;
}

// The shortest start of a rank-ordered list that holds `mass`; at least one. Weights are taken
// relative to `shift`.
std::size_t lengthHoldingMass(const std::vector<Candidate>& ranked,
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

}  // namespace

void CandidateSet::reset(std::span<float> row) {
  m_row = row;
  m_list.clear();
  m_isList = false;
  m_order = Order::Id;
}

template <typename Visit>
void CandidateSet::forEach(Visit visit) const {
  if (m_isList) {
    for (const Candidate& candidate : m_list) visit(candidate);
  } else {
    forEachOfRow(m_row, visit);
  }
}

template <typename Visit>
void CandidateSet::forEachWeighted(float shift, Visit visit) const {
  if (m_isList) {
    for (const Candidate& c : m_list) visit(c, std::exp(double{c.logit} - double{shift}));
    return;
  }
  alignas(32) float weights[kColumnTile];
  for (std::size_t begin = 0; begin < m_row.size(); begin += kColumnTile) {
    const std::size_t count = std::min(kColumnTile, m_row.size() - begin);
    expTile(m_row.data() + begin, count, shift, weights);
    for (std::size_t i = 0; i < count; ++i) {
      const float logit = m_row[begin + i];
      if (logit != kMinusInfinity)
        visit(Candidate{logit, static_cast<TokenId>(begin + i)}, weights[i]);
    }
  }
}

float CandidateSet::maxLogit() const {
  if (!m_isList) return maxOfRow(m_row);
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
  alignas(32) float weights[kColumnTile];
  for (std::size_t begin = 0; begin < m_row.size(); begin += kColumnTile) {
    sum +=
        expTile(m_row.data() + begin, std::min(kColumnTile, m_row.size() - begin), shift, weights);
  }
  return sum;
}

void CandidateSet::divideBy(float temperature) {
  const float max = maxLogit();
  if (m_isList) {
    for (Candidate& candidate : m_list) candidate.logit = (candidate.logit - max) / temperature;
  } else {
    for (float& logit : m_row) logit = (logit - max) / temperature;
  }
}

std::vector<Candidate> CandidateSet::best(std::size_t count) const {
  return bestAmong([this](auto visit) { forEach(visit); }, maxLogit(), count);
}

std::vector<Candidate> CandidateSet::bestByMass(double share) const {
  const float max = maxLogit();
  const double mass = share * sumOfWeights(max);
  std::array<double, kNumBuckets> masses{};
  forEachWeighted(max, [&](const Candidate& c, double weight) {
    masses[static_cast<std::size_t>(bucketOf(max, c.logit))] += weight;
  });
  for (int last = firstBucketReaching(masses, mass);; ++last) {
    std::vector<Candidate> found;
    forEach([&](const Candidate& c) {
      if (bucketOf(max, c.logit) <= last) found.push_back(c);
    });
    std::sort(found.begin(), found.end(), Candidate::ranksBefore);
    double reached = 0.0;
    const std::size_t length = lengthHoldingMass(found, max, mass, &reached);
    // the buckets' sums round differently: one more bucket when the last one fell just short
    if (reached < mass && last + 1 < kNumBuckets) continue;
    found.resize(length);
    return found;
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
  std::vector<Candidate> kept;
  forEach([&](const Candidate& c) {
    if (double{c.logit} >= threshold) kept.push_back(c);
  });
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
  std::sort(kept.begin(), kept.end(), Candidate::ranksBefore);
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
  alignas(32) float weights[kColumnTile];
  m_tileSums.clear();
  double total = 0.0;
  for (std::size_t begin = 0; begin < m_row.size(); begin += kColumnTile) {
    const std::size_t count = std::min(kColumnTile, m_row.size() - begin);
    m_tileSums.push_back(expTile(m_row.data() + begin, count, max, weights));
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
  const std::size_t begin = tile * kColumnTile;
  const std::size_t count = std::min(kColumnTile, m_row.size() - begin);
  expTile(m_row.data() + begin, count, max, weights);
  std::size_t drawn = 0;
  for (std::size_t i = 0; i < count && left >= 0.0; ++i) {
    if (weights[i] == 0.0f) continue;
    drawn = i;
    left -= weights[i];
  }
  return static_cast<TokenId>(begin + drawn);
}

std::vector<Candidate> CandidateSet::remaining() const {
  std::vector<Candidate> result;
  forEach([&](const Candidate& c) { result.push_back(c); });
  return result;
}

std::vector<Candidate> bestOfRow(std::span<const float> row, std::size_t count) {
  return bestAmong([row](auto visit) { forEachOfRow(row, visit); }, maxOfRow(row), count);
}

}  // namespace engine::sample
