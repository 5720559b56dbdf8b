// Where each physical block stands in the block map: plain arithmetic, no widgets.
#pragma once

#include <QPointF>
#include <QRectF>
#include <QSizeF>

namespace ui::models {

// Cells in reading order, square, as large as fits. Coordinates in logical pixels.
class BlockGrid {
 public:
  static constexpr double kMaxCell = 48.0;
  static constexpr double kMinCell = 2.0;

  BlockGrid() = default;
  // The largest cell with which `count` cells fit into `area`; at kMinCell the grid may overflow.
  static BlockGrid fit(int count, QSizeF area);

  int count() const { return m_count; }
  int columns() const { return m_columns; }
  int rows() const { return m_columns == 0 ? 0 : (m_count + m_columns - 1) / m_columns; }
  double cell() const { return m_cell; }
  QSizeF size() const { return {m_columns * m_cell, rows() * m_cell}; }

  QRectF cellRect(int index) const;
  // -1 outside every cell.
  int indexAt(QPointF position) const;

 private:
  int m_count = 0;
  int m_columns = 0;
  double m_cell = 0;
};

}  // namespace ui::models
