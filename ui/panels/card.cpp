#include "ui/panels/card.h"

#include <QHBoxLayout>
#include <QVBoxLayout>

#include "ui/views/figure_label.h"
#include "ui/views/title_label.h"

namespace ui::panels {

namespace {

constexpr int kSide = 14, kTop = 10, kBottom = 12, kUnderTitle = 8;

}  // namespace

Card::Card(const QString& title, QWidget* parent)
    : QFrame(parent),
      m_head(new QFrame),
      m_title(new views::TitleLabel(title)),
      m_figure(new views::FigureLabel),
      m_headRow(new QHBoxLayout(m_head)),
      m_body(new QVBoxLayout(this)) {
  setProperty("role", "card");
  setAccessibleName(title);
  m_title->setProperty("role", "title");
  m_headRow->setContentsMargins(0, 0, 0, 0);
  m_headRow->setSpacing(4);
  m_headRow->addWidget(m_title);
  m_headRow->addWidget(m_figure, 1);
  m_body->setContentsMargins(kSide, kTop, kSide, kBottom);
  m_body->setSpacing(kUnderTitle);
  m_body->addWidget(m_head);
}

void Card::setTitle(const QString& title) { m_title->setTitle(title); }

void Card::setFigure(const QString& figure) {
  if (figure == m_figureText) return;
  m_figureText = figure;
  m_figure->setText(figure);
}

void Card::setCorner(QWidget* corner) { m_headRow->addWidget(corner); }

QHBoxLayout* Card::addSwitchRow() {
  auto* row = new QHBoxLayout;
  row->setSpacing(4);
  m_body->addLayout(row);
  return row;
}

QWidget* Card::takeHead() {
  m_body->removeWidget(m_head);
  m_body->setContentsMargins(kSide, 2, kSide, kBottom);
  m_headRow->setContentsMargins(kSide, kTop - 2, kSide - 4, kUnderTitle - 4);
  m_head->setProperty("role", "cardHead");
  setProperty("role", "cardBody");
  return m_head;
}

}  // namespace ui::panels
