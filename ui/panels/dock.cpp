#include "ui/panels/dock.h"

#include <QStyle>
#include <QToolButton>

#include "ui/panels/card.h"

namespace ui::panels {

namespace {

class NoHead : public QWidget {
 public:
  QSize sizeHint() const override { return {0, 0}; }
  QSize minimumSizeHint() const override { return {0, 0}; }
};

}  // namespace

Dock::Dock(const QString& key, const QString& title, Card* card, QWidget* parent)
    : QDockWidget(title, parent), m_card(card), m_head(nullptr), m_noHead(new NoHead) {
  setObjectName(key);
  auto* close = new QToolButton;
  close->setText(QStringLiteral("×"));
  close->setProperty("role", "close");
  close->setToolTip(tr("Hide; the View menu brings it back"));
  close->setAccessibleName(tr("Hide %1").arg(title));
  card->setCorner(close);
  connect(close, &QToolButton::clicked, this, [this] {
    hide();
    emit closedByUser();
  });
  m_head = card->takeHead();
  m_head->setToolTip(tr("Drag to move, double-click to float"));
  setWidget(card);
  setTitleBarWidget(m_head);
  m_noHead->hide();
}

void Dock::setBare(bool isBare) {
  if (isBare == m_isBare) return;
  m_isBare = isBare;
  setTitleBarWidget(isBare ? m_noHead : m_head);
  m_card->setProperty("role", isBare ? "bare" : "cardBody");
  style()->unpolish(m_card);  // takes up the new role
  style()->polish(m_card);
}

}  // namespace ui::panels
