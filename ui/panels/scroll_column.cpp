#include "ui/panels/scroll_column.h"

#include <QEvent>
#include <QLabel>
#include <QScrollArea>
#include <QVBoxLayout>

namespace ui::panels {

namespace {

constexpr int kScrollBar = 12, kLeastRows = 2;  // a list of less is no list

}  // namespace

ScrollColumn::ScrollColumn(QWidget* rows, const QString& name, QWidget* parent)
    : QWidget(parent), m_column(new QVBoxLayout(this)), m_list(new QScrollArea), m_error(new QLabel) {
  m_column->setContentsMargins(0, 0, 0, 0);
  m_column->setSpacing(6);
  m_list->setProperty("role", "plain");
  m_list->setAccessibleName(name);
  m_list->setWidgetResizable(true);
  m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  m_list->setWidget(rows);
  m_column->addWidget(m_list, 1);
  m_error->setProperty("role", "error");
  m_error->setWordWrap(true);
  m_error->hide();
  m_column->addWidget(m_error);
  rows->installEventFilter(this);
  followRows();
}

void ScrollColumn::setError(const QString& sentence) {
  m_error->setText(sentence.isEmpty() ? QString() : QStringLiteral("× ") + sentence);
  m_error->setVisible(!sentence.isEmpty());
}

QString ScrollColumn::error() const { return m_error->text().mid(2); }

void ScrollColumn::followRows() {
  m_list->setMinimumWidth(m_list->widget()->minimumSizeHint().width() + kScrollBar);
  m_list->setMinimumHeight(kLeastRows * 2 * fontMetrics().height());
}

bool ScrollColumn::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::LayoutRequest && watched == m_list->widget()) followRows();
  return QWidget::eventFilter(watched, event);
}

}  // namespace ui::panels
