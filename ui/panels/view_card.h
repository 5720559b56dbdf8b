// A card around one view, which can also be read as a table: reached by keyboard, copied as CSV.
#pragma once

#include <QTimer>
#include <memory>

#include "ui/bridge/selection.h"
#include "ui/models/source_table_model.h"
#include "ui/panels/card.h"

class QLabel;
class QStackedWidget;
class QTableView;
class QToolButton;

namespace ui::panels {

// Ui thread only. Unseen, in a back tab too, it draws nothing; what it missed it shows when it is seen.
class ViewCard : public Card {
  Q_OBJECT

 public:
  // `selection` must outlive the card.
  ViewCard(const QString& title, bridge::Selection& selection, QWidget* parent = nullptr);

  // The data behind the view has moved on.
  void moveOn();
  // On the screen, not only shown somewhere behind.
  bool isSeen() const;

  bool hasTable() const { return m_tableModel != nullptr; }
  bool isTableShown() const;
  void showTable(bool isTable);
  // The rows that are selected in the table, or all.
  QString csv();
  QTableView* table() { return m_table; }

 public slots:
  void copyCsv();

 protected:
  virtual void refreshView() = 0;
  // Once, in the constructor; the card owns both.
  void setView(QWidget* view);
  void setView(QWidget* view, QWidget* key);  // the key below the view
  void setTable(std::unique_ptr<models::TableSource> source);
  bridge::Selection& selection() { return m_selection; }
  void showEvent(QShowEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void buildTable();
  void refreshTable();
  void pinRow(int row);
  void showSelection();

  bridge::Selection& m_selection;
  QStackedWidget* m_stack;
  QToolButton *m_tableButton, *m_copyButton;
  std::unique_ptr<models::SourceTableModel> m_tableModel;
  QTableView* m_table = nullptr;  // made when it is first asked for
  QTimer m_tableTimer;
  QLabel* m_noRows = nullptr;  // in the table's place while there are none
  bool m_isShowingSelection = false, m_hadNoRows = false;
};

}  // namespace ui::panels
