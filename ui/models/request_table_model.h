// Requests as rows: what each is doing and why.
#pragma once

#include <QAbstractTableModel>
#include <memory>

#include "engine/api/snapshot.h"

namespace ui::models {

// Ui thread only. Rows are the snapshot's requests, alive first, then the latest finished.
class RequestTableModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { Label, State, Tokens, Cached, Blocks, Speed, Ttft, Why, NumberOfColumns };

  using QAbstractTableModel::QAbstractTableModel;

  void setSnapshot(std::shared_ptr<const engine::EngineSnapshot> snapshot);

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

  // None for a row outside the table; -1 for an unknown request.
  engine::RequestId requestAt(int row) const;
  int rowOf(engine::RequestId id) const;

 private:
  QString text(const engine::RequestSnapshot& request, int column) const;

  std::shared_ptr<const engine::EngineSnapshot> m_snapshot;
  std::vector<engine::RequestId> m_rows;  // ids in row order, to tell a change of rows from one of cells
};

// "prefilling", "decoding", ...
QString stateName(engine::RequestState state);

}  // namespace ui::models
