// One sentence that must not be missed, above the conversation, until it is closed.
#pragma once

#include <QFrame>

class QLabel;

namespace ui::panels {

class Banner : public QFrame {
  Q_OBJECT

 public:
  explicit Banner(QWidget* parent = nullptr);

  // Adds a sentence; one that is there already is not repeated.
  void add(const QString& sentence);
  void clear();
  QString text() const;

 private:
  QStringList m_sentences;
  QLabel* m_label;
};

}  // namespace ui::panels
