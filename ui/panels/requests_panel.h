// The table of requests: what each is doing, and why.
#pragma once

#include <memory>

#include "engine/api/snapshot.h"
#include "ui/models/request_table_model.h"
#include "ui/panels/card.h"

class QTableView;

namespace ui::bridge {
class Selection;
}

namespace ui::panels {

// Ui thread only.
class RequestsPanel : public Card {
  Q_OBJECT

 public:
  explicit RequestsPanel(bridge::Selection& selection, QWidget* parent = nullptr);

  void setSnapshot(const std::shared_ptr<const engine::EngineSnapshot>& snapshot);

 private:
  void buildTable();
  void connectSelection();
  void showSelection();

  bridge::Selection& m_selection;
  models::RequestTableModel m_model;
  QTableView* m_table;
  bool m_isShowingSelection = false;
};

}  // namespace ui::panels
