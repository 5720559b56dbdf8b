#include "ui/models/block_arrangement.h"

#include <algorithm>
#include <cmath>

#include "ui/models/block_grid.h"

namespace ui::models {

namespace {

constexpr double kLabelWidth = 92.0;
constexpr double kLogicalMaxCell = 14.0;
constexpr double kLogicalMinCell = 3.0;

std::vector<const engine::RequestSnapshot*> holders(const engine::EngineSnapshot& snapshot) {
  std::vector<const engine::RequestSnapshot*> rows;
  for (const engine::RequestSnapshot& request : snapshot.requests) {
    if (!request.blocks.empty()) rows.push_back(&request);
  }
  return rows;
}

// The largest cell with which the longest table fits beside its label and all rows fit below another.
double logicalCell(const std::vector<const engine::RequestSnapshot*>& rows, QSizeF area) {
  std::size_t longest = 1;
  for (const engine::RequestSnapshot* row : rows) longest = std::max(longest, row->blocks.size());
  const double byWidth = (area.width() - kLabelWidth) / static_cast<double>(longest);
  const double byHeight = area.height() / (static_cast<double>(rows.size()) * 1.4);
  return std::clamp(std::floor(std::min(byWidth, byHeight)), kLogicalMinCell, kLogicalMaxCell);
}

}  // namespace

BlockArrangement BlockArrangement::physical(const engine::EngineSnapshot& snapshot, QSizeF area, double ratio) {
  BlockArrangement arrangement;
  const BlockGrid grid = BlockGrid::fit(static_cast<int>(snapshot.blocks.size()), area * ratio);
  arrangement.cell = grid.cell() / ratio;
  arrangement.cells.reserve(snapshot.blocks.size());
  for (int block = 0; block < grid.count(); ++block) {
    const QRectF rect = grid.cellRect(block);
    arrangement.cells.push_back(
        {block, -1, engine::RequestId(), QRectF(rect.topLeft() / ratio, rect.size() / ratio)});
  }
  arrangement.isCut = grid.size().height() > area.height() * ratio;
  return arrangement;
}

BlockArrangement BlockArrangement::logical(const engine::EngineSnapshot& snapshot, QSizeF area) {
  BlockArrangement arrangement;
  const auto rows = holders(snapshot);
  if (rows.empty()) return arrangement;
  const double cell = logicalCell(rows, area);
  arrangement.cell = cell;
  double y = 0;
  for (const engine::RequestSnapshot* row : rows) {
    if (y + cell > area.height()) {
      arrangement.isCut = true;
      break;
    }
    arrangement.labels.push_back({QString::fromStdString(row->label), row->id,
                                  QRectF(0, y, kLabelWidth - 6, std::max(cell, 14.0))});
    double x = kLabelWidth;
    for (std::size_t i = 0; i < row->blocks.size(); ++i, x += cell) {
      if (x + cell > area.width()) {
        arrangement.isCut = true;
        break;
      }
      arrangement.cells.push_back(
          {row->blocks[i].value, static_cast<int>(i), row->id, QRectF(x, y, cell, cell)});
    }
    y += std::max(cell * 1.4, 16.0);
  }
  return arrangement;
}

int BlockArrangement::cellAt(QPointF position) const {
  // Cells are few thousand and hit tests come with mouse moves only.
  const auto at = std::ranges::find_if(
      cells, [position](const BlockCell& entry) { return entry.rect.contains(position); });
  return at == cells.end() ? -1 : static_cast<int>(at - cells.begin());
}

}  // namespace ui::models
