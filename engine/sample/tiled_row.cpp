#include "engine/sample/tiled_row.h"

#include <algorithm>
#include <functional>

#include "engine/base/check.h"

namespace engine::sample {

void TiledRow::reset(std::span<const float> row, std::span<const TileSummary> tiles) {
  m_row = row;
  m_temperature = 0.0f;
  m_tops.clear();
  for (std::size_t begin = 0; begin < row.size(); begin += kColumnTile) {
    const std::size_t count = std::min(kColumnTile, row.size() - begin);
    m_tops.push_back(tiles.empty() ? maxOfTile(row.data() + begin, count)
                                   : tiles[begin / kColumnTile].max);
  }
  m_top =
      m_tops.empty() ? -std::numeric_limits<float>::infinity() : *std::ranges::max_element(m_tops);
}

void TiledRow::divideBy(float temperature) {
  CHECK(m_temperature == 0.0f);
  m_shift = m_top;
  m_temperature = temperature;
  for (float& top : m_tops) top = (top - m_shift) / temperature;
  m_top = (m_top - m_shift) / temperature;
}

// Each of the `count` tiles with the largest tops has a value that reaches the smallest of these.
float TiledRow::reachedBy(std::size_t count) const {
  if (count == 0 || count > m_tops.size()) return -std::numeric_limits<float>::infinity();
  std::vector<float> tops = m_tops;
  const auto last = tops.begin() + static_cast<std::ptrdiff_t>(count) - 1;
  std::ranges::nth_element(tops, last, std::greater<>());
  return *last;
}

std::span<const float> TiledRow::tile(std::size_t index, float* buffer) const {
  const std::size_t begin = index * kColumnTile;
  const std::span<const float> logits =
      m_row.subspan(begin, std::min(kColumnTile, m_row.size() - begin));
  if (m_temperature == 0.0f) return logits;
  divideTile(logits.data(), logits.size(), m_shift, m_temperature, buffer);
  return {buffer, logits.size()};
}

}  // namespace engine::sample
