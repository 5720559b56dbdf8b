// Requests as rows: what each is doing and why.
#pragma once

#include <QAbstractTableModel>
#include <memory>
#include <optional>

#include "engine/api/snapshot.h"
#include "ui/bridge/selection.h"

namespace ui::models {

// Ui thread only. Rows are the snapshot's requests, alive first, then the latest finished.
class RequestTableModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { Label, State, Tokens, Cached, Blocks, Speed, Ttft, Why, NumberOfColumns };

  using QAbstractTableModel::QAbstractTableModel;

  void setSnapshot(std::shared_ptr<const engine::EngineSnapshot> snapshot);
  // Only requests that lived in it; all when there is none.
  void setRange(std::optional<bridge::TimeRange> range);

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

  // None for a row outside the table; -1 for an unknown request.
  engine::RequestId requestAt(int row) const;
  int rowOf(engine::RequestId id) const;

 private:
  bool isInRange(const engine::RequestSnapshot& request) const;
  QString text(const engine::RequestSnapshot& request, int column) const;

  std::shared_ptr<const engine::EngineSnapshot> m_snapshot;
  std::optional<bridge::TimeRange> m_range;
  std::vector<std::size_t> m_places;      // in the snapshot, of each row
  std::vector<engine::RequestId> m_rows;  // ids in row order, to tell a change of rows from one of cells
};

// "prefilling", "decoding", ...
QString stateName(engine::RequestState state);

}  // namespace ui::models
