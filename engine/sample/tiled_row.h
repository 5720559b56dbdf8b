// One row of logits with the largest of each column tile, so that who looks for large ones passes
// most of the row by.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "engine/sample/column_tiles.h"

namespace engine::sample {

// One thread; keeps its memory from row to row.
class TiledRow {
 public:
  // Borrows the row. Minus infinity is allowed, NaN and plus infinity are not.
  //   tiles: what is known of each of its tiles, or nothing
  void reset(std::span<const float> row, std::span<const TileSummary> tiles = {});

  // From now on the values are (logit - largest) / temperature, the largest being 0. Once a row.
  void divideBy(float temperature);

  std::size_t size() const { return m_row.size(); }

  std::size_t numTiles() const { return m_tops.size(); }

  // The largest value.
  float top() const { return m_top; }

  // A bound that at least `count` values reach; minus infinity when the tiles are too few to tell.
  float reachedBy(std::size_t count) const;

  // The values of a tile: where they lie, or in `buffer` [kColumnTile], aligned to 64 bytes.
  std::span<const float> tile(std::size_t index, float* buffer) const;

  // visit(value, column) of every value of at least `least`, by column; minus infinity never is.
  template <typename Visit>
  void forEachAtLeast(float least, Visit visit) const {
    least = std::max(least, std::numeric_limits<float>::lowest());
    alignas(64) float buffer[kColumnTile];
    std::uint8_t found[kColumnTile];
    for (std::size_t index = 0; index < numTiles(); ++index) {
      if (m_tops[index] < least) continue;
      const std::span<const float> values = tile(index, buffer);
      const std::size_t numFound = findAtLeast(values.data(), values.size(), least, found);
      for (std::size_t i = 0; i < numFound; ++i) {
        visit(values[found[i]], index * kColumnTile + found[i]);
      }
    }
  }

 private:
  std::span<const float> m_row;
  std::vector<float> m_tops;  // largest value of each tile
  float m_top = 0.0f;
  float m_shift = 0.0f, m_temperature = 0.0f;  // temperature 0: values are the logits
};

}  // namespace engine::sample
