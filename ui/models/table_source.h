// What a view shows, as rows and columns: the source of "view as table", of its copy as CSV, and of tests.
#pragma once

#include <QStringList>
#include <QVariant>

#include "engine/base/ids.h"

namespace ui::models {

// Ui thread only. Cells are whole numbers, doubles or text.
class TableSource {
 public:
  virtual ~TableSource() = default;

  virtual QStringList columns() const = 0;
  // Looks anew at what there is; the number of rows. The calls below speak of these rows.
  virtual int prepare() = 0;
  // Empty for a row whose data has gone meanwhile.
  virtual QVariant cell(int row, int column) const = 0;

  // What a row stands for on other views; none where it stands for nothing.
  virtual engine::RequestId requestAt(int) const { return {}; }
  virtual engine::StepId stepAt(int) const { return {}; }
  virtual engine::BlockId blockAt(int) const { return {}; }
};

}  // namespace ui::models
