// What to do next when no model is open: open, drop, take one of these, or fetch one.
#pragma once

#include <QScrollArea>
#include <QStringList>

class QLabel;
class QPushButton;
class QVBoxLayout;

namespace ui::panels {

struct FirstRunChoices {
  QStringList recent;  // models opened before, newest first
  QStringList found;   // models on this computer that were not
  QStringList runs;    // recorded runs

  bool operator==(const FirstRunChoices&) const = default;
};

// Ui thread only.
class FirstRunPage : public QScrollArea {
  Q_OBJECT

 public:
  explicit FirstRunPage(QWidget* parent = nullptr);

  void setChoices(const FirstRunChoices& choices);
  // Why the last model was not opened by itself, or that one loads; may be empty.
  void setRemark(const QString& sentence);
  QString remark() const;
  QPushButton& openButton() { return *m_open; }
  QList<QPushButton*> fileButtons() const { return m_files; }

 signals:
  void openWanted();
  void fileWanted(const QString& path);

 private:
  void addSection(const QString& title, const QStringList& paths);

  QWidget* m_page;
  QLabel *m_title, *m_remark, *m_fetch;
  QPushButton* m_open;
  QVBoxLayout* m_sections;
  QList<QPushButton*> m_files;
  FirstRunChoices m_choices;
};

}  // namespace ui::panels
