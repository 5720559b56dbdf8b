#include "ui/models/block_grid.h"

#include <algorithm>
#include <cmath>

namespace ui::models {

BlockGrid BlockGrid::fit(int count, QSizeF area) {
  BlockGrid grid;
  if (count <= 0 || area.width() < kMinCell || area.height() < kMinCell) return grid;
  grid.m_count = count;
  // Whole pixels, so that cell edges are sharp; the search is at most 47 steps.
  for (double cell = kMaxCell; cell >= kMinCell; cell -= 1.0) {
    const int columns = std::max(1, static_cast<int>(area.width() / cell));
    const int rows = (count + columns - 1) / columns;
    grid.m_cell = cell;
    grid.m_columns = std::min(columns, count);
    if (rows * cell <= area.height()) break;
  }
  return grid;
}

QRectF BlockGrid::cellRect(int index) const {
  if (index < 0 || index >= m_count) return {};
  return {(index % m_columns) * m_cell, (index / m_columns) * m_cell, m_cell, m_cell};
}

int BlockGrid::indexAt(QPointF position) const {
  if (m_count == 0 || position.x() < 0 || position.y() < 0) return -1;
  const int column = static_cast<int>(position.x() / m_cell);
  const int row = static_cast<int>(position.y() / m_cell);
  if (column >= m_columns) return -1;
  const int index = row * m_columns + column;
  return index < m_count ? index : -1;
}

}  // namespace ui::models
