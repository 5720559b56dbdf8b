// The log and what someone who helps needs: copy, save, filter.
#pragma once

#include <QDialog>
#include <functional>

#include "ui/models/log_lines.h"

class QCheckBox;
class QLabel;
class QPlainTextEdit;
class QPushButton;

namespace ui::panels {

// Ui thread only. Costs nothing while closed.
class LogWindow : public QDialog {
  Q_OBJECT

 public:
  // `log` must outlive the window; `diagnostics` makes the text that is copied.
  LogWindow(models::LogLines& log, std::function<QString()> diagnostics, QWidget* parent = nullptr);

  QString shownText() const;
  QPushButton& copyButton() { return *m_copy; }
  QCheckBox& problemsOnly() { return *m_problemsOnly; }

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  void buildWidgets();
  void layOutWidgets();
  void showAll();
  void append(const models::LogLine& line);
  void copyDiagnostics();

  models::LogLines& m_log;
  std::function<QString()> m_diagnostics;
  QPlainTextEdit* m_text;
  QCheckBox* m_problemsOnly;
  QPushButton *m_copy, *m_close;
  QLabel* m_note;
};

}  // namespace ui::panels
