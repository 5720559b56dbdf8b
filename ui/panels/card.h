// A calm frame for one question: title at the left, the figure that matters at the right, body below.
#pragma once

#include <QFrame>
#include <QString>

class QHBoxLayout;
class QVBoxLayout;

namespace ui::views {
class FigureLabel;
class TitleLabel;
}

namespace ui::panels {

class Card : public QFrame {
  Q_OBJECT

 public:
  explicit Card(const QString& title, QWidget* parent = nullptr);

  void setTitle(const QString& title);
  void setFigure(const QString& figure);  // elided when the card is narrow; whole in the tooltip
  const QString& figure() const { return m_figureText; }
  QVBoxLayout* body() { return m_body; }
  // At the right end of the title's line.
  void setCorner(QWidget* corner);
  // A row between title and body for small switches.
  QHBoxLayout* addSwitchRow();
  // The title's line leaves the card and becomes a dock's title bar; what stays is the lower part.
  QWidget* takeHead();

 private:
  QFrame* m_head;
  views::TitleLabel* m_title;
  views::FigureLabel* m_figure;
  QHBoxLayout* m_headRow;
  QVBoxLayout* m_body;
  QString m_figureText;
};

}  // namespace ui::panels
