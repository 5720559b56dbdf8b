// The table of requests: what each is doing, and why.
#pragma once

#include "ui/models/request_table_model.h"
#include "ui/panels/card.h"
#include "ui/panels/view_parts.h"

class QTableView;

namespace ui::panels {

// Ui thread only.
class RequestsPanel : public Card {
  Q_OBJECT

 public:
  explicit RequestsPanel(const ViewParts& parts, QWidget* parent = nullptr);

  const models::RequestTableModel& model() const { return m_model; }

 public slots:
  void copyCsv();

 protected:
  void showEvent(QShowEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void buildTable();
  void fitText();
  void connectSelection();
  void showSelection();
  void refresh();

  bridge::EngineBridge& m_bridge;
  bridge::Selection& m_selection;
  models::RequestTableModel m_model;
  QTableView* m_table;
  bool m_isShowingSelection = false;
};

}  // namespace ui::panels
