// The order in which blocks are laid out: by physical id, or one row a request in block-table order.
#pragma once

#include <QPointF>
#include <QRectF>
#include <QSizeF>
#include <QString>
#include <vector>

#include "engine/api/snapshot.h"

namespace ui::models {

enum class BlockOrder : std::uint8_t { Physical, Logical };

struct BlockCell {
  int block = -1;
  int logical = -1;            // index in `request`'s table; -1 in physical order
  engine::RequestId request;   // the row's request; none in physical order
  QRectF rect;
};

struct BlockRowLabel {
  QString text;
  engine::RequestId request;
  QRectF rect;
};

// Rects in logical pixels inside `area`. A block shared by several requests has a cell in each row of
// logical order.
struct BlockArrangement {
  std::vector<BlockCell> cells;
  std::vector<BlockRowLabel> labels;
  double cell = 0;
  bool isCut = false;  // logical order: more rows or blocks than fit

  // Cells are whole device pixels at `ratio` of them a logical one, so that edges stay sharp.
  static BlockArrangement physical(const engine::EngineSnapshot& snapshot, QSizeF area, double ratio = 1);
  static BlockArrangement logical(const engine::EngineSnapshot& snapshot, QSizeF area);

  // Index into cells, or -1.
  int cellAt(QPointF position) const;
};

}  // namespace ui::models
