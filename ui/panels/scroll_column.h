// A panel's rows in a list that scrolls, a line for what was refused, and room below both.
#pragma once

#include <QWidget>

class QLabel;
class QScrollArea;
class QVBoxLayout;

namespace ui::panels {

// Ui thread only. Never narrower than its rows, in whatever text size: only heights scroll.
class ScrollColumn : public QWidget {
  Q_OBJECT

 public:
  // Takes `rows` over. `name` is what a screen reader calls the list.
  ScrollColumn(QWidget* rows, const QString& name, QWidget* parent = nullptr);

  // What stands below goes to its end.
  QVBoxLayout& column() { return *m_column; }
  QScrollArea& list() { return *m_list; }
  // Empty hides it.
  void setError(const QString& sentence);
  QString error() const;

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void followRows();

  QVBoxLayout* m_column;
  QScrollArea* m_list;
  QLabel* m_error;
};

}  // namespace ui::panels
