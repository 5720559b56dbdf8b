// A card that can be moved, floated and hidden; its title line is what it is dragged by.
#pragma once

#include <QDockWidget>

namespace ui::panels {

class Card;

// Ui thread only.
class Dock : public QDockWidget {
  Q_OBJECT

 public:
  // `key` names it in saved layouts and never changes; `title` is on its tab.
  Dock(const QString& key, const QString& title, Card* card, QWidget* parent = nullptr);

  Card& card() { return *m_card; }
  // Without its title line it cannot be moved: for a dock that has the window to itself.
  void setBare(bool isBare);

 signals:
  void closedByUser();

 private:
  Card* m_card;
  QWidget* m_head;
  QWidget* m_noHead;
  bool m_isBare = false;
};

}  // namespace ui::panels
