// A calm frame for one question: title at the left, the figure that matters at the right, body below.
#pragma once

#include <QFrame>
#include <QString>

class QHBoxLayout;
class QLabel;
class QVBoxLayout;

namespace ui::panels {

class Card : public QFrame {
  Q_OBJECT

 public:
  explicit Card(const QString& title, QWidget* parent = nullptr);

  void setTitle(const QString& title);
  void setFigure(const QString& figure);  // elided when the card is narrow; whole in the tooltip
  QVBoxLayout* body() { return m_body; }
  // At the right end of the title's line.
  void setCorner(QWidget* corner);
  // A row between title and body for small switches.
  QHBoxLayout* addSwitchRow();

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  void showFigure();

  QLabel* m_title;
  QLabel* m_figure;
  QHBoxLayout* m_head;
  QVBoxLayout* m_body;
  QString m_figureText;
};

}  // namespace ui::panels
