#include "engine/sample/row_tiles.h"

#include <algorithm>

namespace engine::sample {

void RowTiles::reset(std::size_t numRows, std::size_t rowSize) {
  m_tilesPerRow = (rowSize + kColumnTile - 1) / kColumnTile;
  m_tiles.resize(numRows * m_tilesPerRow);
  m_isKnown.assign(m_tiles.size(), 0);
}

void RowTiles::add(std::size_t row, std::size_t tile, const float* columns, std::size_t count) {
  const std::size_t at = row * m_tilesPerRow + tile;
  m_tiles[at] = summarizeTile(columns, count);
  m_isKnown[at] = 1;
}

std::span<const TileSummary> RowTiles::of(std::size_t row) const {
  const auto known = std::span(m_isKnown).subspan(row * m_tilesPerRow, m_tilesPerRow);
  if (std::ranges::find(known, 0) != known.end()) return {};
  return std::span(m_tiles).subspan(row * m_tilesPerRow, m_tilesPerRow);
}

}  // namespace engine::sample
