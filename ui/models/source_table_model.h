// A TableSource as Qt's views want it, and as CSV.
#pragma once

#include <QAbstractTableModel>
#include <memory>

#include "ui/models/table_source.h"

namespace ui::models {

// Ui thread only.
class SourceTableModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  explicit SourceTableModel(std::unique_ptr<TableSource> source, QObject* parent = nullptr);

  // Takes over what the source has now. Rows that come at the end leave selection and scrolling alone.
  void refresh();
  const TableSource& source() const { return *m_source; }

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  std::unique_ptr<TableSource> m_source;
  QStringList m_columns;
  int m_numRows = 0;
};

// Rows of any table with its header line, numbers without grouping, quoted as RFC 4180 asks.
// `rows` empty = all.
QString csvOf(const QAbstractItemModel& model, const QList<int>& rows = {});

}  // namespace ui::models
