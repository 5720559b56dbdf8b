// What is known of the tiles of several rows of logits, told from several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/sample/column_tiles.h"

namespace engine::sample {

class RowTiles {
 public:
  // Knows nothing of so many rows.
  void reset(std::size_t numRows, std::size_t rowSize);

  // Any thread, different tiles at once; of a tile the last time counts.
  //   columns: [count] f32, the tile's
  void add(std::size_t row, std::size_t tile, const float* columns, std::size_t count);

  // All tiles of a row; nothing when one of them was not told of.
  std::span<const TileSummary> of(std::size_t row) const;

 private:
  std::size_t m_tilesPerRow = 0;
  std::vector<TileSummary> m_tiles;     // [rows, tiles]
  std::vector<std::uint8_t> m_isKnown;  // the same
};

}  // namespace engine::sample
