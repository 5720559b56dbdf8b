#include "ui/panels/card.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QVBoxLayout>

namespace ui::panels {

Card::Card(const QString& title, QWidget* parent)
    : QFrame(parent), m_title(new QLabel(title)), m_figure(new QLabel), m_head(new QHBoxLayout), m_body(new QVBoxLayout(this)) {
  setProperty("role", "card");
  setAccessibleName(title);
  m_title->setProperty("role", "title");
  m_figure->setProperty("role", "muted");
  m_figure->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
  m_figure->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  m_head->setSpacing(12);
  m_head->addWidget(m_title);
  m_head->addWidget(m_figure, 1);
  m_body->setContentsMargins(14, 10, 14, 12);
  m_body->setSpacing(8);
  m_body->addLayout(m_head);
}

void Card::setTitle(const QString& title) { m_title->setText(title); }

void Card::setFigure(const QString& figure) {
  if (figure == m_figureText) return;
  m_figureText = figure;
  showFigure();
}

void Card::showFigure() {
  m_figure->setText(m_figure->fontMetrics().elidedText(m_figureText, Qt::ElideRight, m_figure->width()));
  m_figure->setToolTip(m_figureText);
  m_figure->setAccessibleName(m_figureText);
}

void Card::setCorner(QWidget* corner) { m_head->addWidget(corner); }

QHBoxLayout* Card::addSwitchRow() {
  auto* row = new QHBoxLayout;
  row->setSpacing(4);
  m_body->addLayout(row);
  return row;
}

void Card::resizeEvent(QResizeEvent* event) {
  QFrame::resizeEvent(event);
  showFigure();
}

}  // namespace ui::panels
