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
  // One that stays when a model is opened.
  void addLasting(const QString& sentence);
  // What a model that is open now makes untrue goes.
  void onModelLoaded();
  // Takes a sentence away that is told elsewhere now; whether it was there.
  bool remove(const QString& sentence);
  void clear();
  QString text() const;

 private:
  void showSentences();

  QStringList m_sentences, m_lasting;  // the second holds those that only closing removes
  QLabel* m_label;
};

}  // namespace ui::panels
