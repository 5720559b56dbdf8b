// Synthetic users: how many, when they come, how long they are; and what the engine makes of them.
#pragma once

#include <QElapsedTimer>
#include <map>

#include "ui/models/traffic_run.h"
#include "ui/panels/view_card.h"
#include "ui/panels/view_parts.h"

class QComboBox;
class QFormLayout;
class QLabel;
class QLineEdit;
class QPushButton;

namespace ui::panels {

class ScrollColumn;

// Ui thread only. Read as a table, it lists the requests of the run.
class TrafficPanel : public ViewCard {
  Q_OBJECT

 public:
  TrafficPanel(const ViewParts& parts, models::TrafficDraw draw, QWidget* parent = nullptr);

  models::TrafficRun& run() { return m_run; }
  // The field of a name as on the command line: "arrival", "rate", "prompt-lengths", …
  void setField(const QString& name, const QString& value);
  QPushButton& startButton() { return *m_start; }
  QString error() const;

 public slots:
  void toggle();

 protected:
  void refreshView() override;

 private:
  QWidget* buildForm();
  void addField(QFormLayout& form, const QString& name, const QString& label, const QString& value, const QString& tip);
  // One sentence in `sentence` when a field is no number.
  models::TrafficSpec spec(QString& sentence) const;
  void showFields();
  void showError(const QString& sentence);
  QString figuresText() const;

  models::TrafficRun m_run;
  QComboBox* m_arrival;
  std::map<QString, QLineEdit*> m_fields;
  std::map<QString, QWidget*> m_labels;
  QElapsedTimer m_pace;  // since the figures were written
  QPushButton* m_start;
  ScrollColumn* m_form;
  QLabel* m_figures;
};

}  // namespace ui::panels
