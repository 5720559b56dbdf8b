#include "ui/panels/view_card.h"

#include <QApplication>
#include <QClipboard>
#include <QEvent>
#include <QHeaderView>
#include <QLabel>
#include <QShortcut>
#include <QStackedWidget>
#include <QTableView>
#include <QToolButton>
#include <QVBoxLayout>
#include <utility>

#include "ui/style/fonts.h"

namespace ui::panels {

namespace {

constexpr int kTableRefreshMs = 500;

int rowHeight() { return static_cast<int>(style::scaledPx(22)); }

QToolButton* smallButton(const QString& text, const QString& name) {
  auto* button = new QToolButton;
  button->setText(text);
  button->setToolTip(name);
  button->setAccessibleName(name);
  button->setProperty("role", "small");
  return button;
}

}  // namespace

ViewCard::ViewCard(const QString& title, bridge::Selection& selection, QWidget* parent)
    : Card(title, parent),
      m_selection(selection),
      m_stack(new QStackedWidget),
      m_tableButton(smallButton(tr("table"), tr("View %1 as a table").arg(title))),
      m_copyButton(smallButton(tr("CSV"), tr("Copy %1 as CSV").arg(title))) {
  body()->addWidget(m_stack, 1);
  m_tableButton->setCheckable(true);
  m_tableButton->hide();
  m_copyButton->hide();
  setCorner(m_copyButton);
  setCorner(m_tableButton);
  connect(m_tableButton, &QToolButton::toggled, this, &ViewCard::showTable);
  connect(m_copyButton, &QToolButton::clicked, this, &ViewCard::copyCsv);
  m_tableTimer.setSingleShot(true);
  m_tableTimer.setInterval(kTableRefreshMs);
  connect(&m_tableTimer, &QTimer::timeout, this, [this] {
    if (!isSeen()) return;
    refreshView();  // the figures beside the title stay true too
    refreshTable();
  });
}

void ViewCard::setView(QWidget* view) { m_stack->addWidget(view); }

void ViewCard::setView(QWidget* view, QWidget* key) {
  auto* both = new QWidget;
  auto* column = new QVBoxLayout(both);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(2);
  column->addWidget(view, 1);
  column->addWidget(key);
  setView(both);
}

void ViewCard::setTable(std::unique_ptr<models::TableSource> source) {
  m_tableModel = std::make_unique<models::SourceTableModel>(std::move(source));
  m_tableButton->show();
}

bool ViewCard::isSeen() const { return isVisible() && !visibleRegion().isEmpty(); }

bool ViewCard::isTableShown() const { return m_table && m_stack->currentWidget() == m_table; }

void ViewCard::moveOn() {
  if (!isSeen()) return;
  if (!isTableShown()) refreshView();
  else if (!m_tableTimer.isActive()) m_tableTimer.start();
}

void ViewCard::buildTable() {
  m_table = new QTableView;
  m_table->setModel(m_tableModel.get());
  m_table->setAccessibleName(tr("%1, as a table").arg(accessibleName()));
  m_table->setSelectionBehavior(QAbstractItemView::SelectRows);
  m_table->setEditTriggers(QAbstractItemView::NoEditTriggers);
  m_table->setShowGrid(false);
  m_table->setTabKeyNavigation(false);
  m_table->setWordWrap(false);
  m_table->verticalHeader()->hide();
  m_table->verticalHeader()->setDefaultSectionSize(rowHeight());
  m_table->horizontalHeader()->setHighlightSections(false);
  m_stack->addWidget(m_table);
  m_noRows = new QLabel(tr("Nothing to list yet."), m_table->viewport());
  m_noRows->setProperty("role", "muted");
  m_noRows->setAlignment(Qt::AlignCenter);
  auto* place = new QVBoxLayout(m_table->viewport());
  place->addWidget(m_noRows);
  auto* copy = new QShortcut(QKeySequence::Copy, m_table, nullptr, nullptr, Qt::WidgetWithChildrenShortcut);
  connect(copy, &QShortcut::activated, this, &ViewCard::copyCsv);
  connect(m_table->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& index) {
    if (!m_isShowingSelection && index.isValid()) pinRow(index.row());
  });
  connect(&m_selection, &bridge::Selection::changed, this, [this] {
    if (!isTableShown()) return;
    showSelection();
    if (!m_tableTimer.isActive()) m_tableTimer.start();  // another range may be selected
  });
}

void ViewCard::showTable(bool isTable) {
  if (!m_tableModel || isTable == isTableShown()) return;
  if (isTable && !m_table) buildTable();
  m_stack->setCurrentIndex(isTable ? 1 : 0);
  m_tableButton->setChecked(isTable);
  m_copyButton->setVisible(isTable);
  if (isTable) {
    refreshTable();
    m_table->resizeColumnsToContents();
    m_hadNoRows = m_tableModel->rowCount() == 0;
    m_table->setFocus();
  } else {
    refreshView();
  }
}

void ViewCard::refreshTable() {
  m_isShowingSelection = true;
  m_tableModel->refresh();
  m_isShowingSelection = false;
  m_noRows->setVisible(m_tableModel->rowCount() == 0);
  if (m_tableModel->rowCount() > 0 && std::exchange(m_hadNoRows, false)) m_table->resizeColumnsToContents();
  showSelection();
}

void ViewCard::pinRow(int row) {
  const models::TableSource& source = m_tableModel->source();
  if (const auto step = source.stepAt(row); !step.isNone()) m_selection.pinStep(step);
  if (const auto block = source.blockAt(row); !block.isNone()) m_selection.pinBlock(block);
  if (const auto request = source.requestAt(row); !request.isNone()) m_selection.pinRequest(request);
}

// The row of what is pinned elsewhere; a block or a step tells more than its request.
void ViewCard::showSelection() {
  const models::TableSource& source = m_tableModel->source();
  const auto isPinned = [&](int row) {
    if (const auto step = source.stepAt(row); !step.isNone()) return step == m_selection.pinnedStep();
    if (const auto block = source.blockAt(row); !block.isNone()) return block == m_selection.pinnedBlock();
    const auto request = source.requestAt(row);
    return !request.isNone() && request == m_selection.pinnedRequest();
  };
  const int current = m_table->currentIndex().row();
  if (current >= 0 && current < m_tableModel->rowCount() && isPinned(current)) return;
  for (int row = 0; row < m_tableModel->rowCount(); ++row) {
    if (!isPinned(row)) continue;
    m_isShowingSelection = true;
    m_table->selectRow(row);
    m_isShowingSelection = false;
    return;
  }
}

QString ViewCard::csv() {
  if (!m_tableModel) return {};
  QList<int> rows;
  if (m_table) {
    for (const QModelIndex& index : m_table->selectionModel()->selectedRows()) rows << index.row();
    std::sort(rows.begin(), rows.end());
  }
  if (rows.size() < 2) rows.clear();  // one row is where the cursor stands, not a choice
  if (rows.isEmpty()) m_tableModel->refresh();
  return models::csvOf(*m_tableModel, rows);
}

void ViewCard::copyCsv() { QApplication::clipboard()->setText(csv()); }

void ViewCard::changeEvent(QEvent* event) {
  Card::changeEvent(event);
  if (event->type() == QEvent::FontChange && m_table) m_table->verticalHeader()->setDefaultSectionSize(rowHeight());
}

void ViewCard::showEvent(QShowEvent* event) {
  Card::showEvent(event);
  refreshView();
  if (isTableShown()) refreshTable();
}

}  // namespace ui::panels
