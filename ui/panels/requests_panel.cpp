#include "ui/panels/requests_panel.h"

#include <QApplication>
#include <QClipboard>
#include <QEvent>
#include <QHeaderView>
#include <QShortcut>
#include <QTableView>
#include <QToolButton>
#include <QVBoxLayout>

#include "ui/bridge/engine_bridge.h"
#include "ui/bridge/selection.h"
#include "ui/models/run_record.h"
#include "ui/models/source_table_model.h"
#include "ui/style/fonts.h"

namespace ui::panels {

using models::RequestTableModel;

RequestsPanel::RequestsPanel(const ViewParts& parts, QWidget* parent)
    : Card(tr("Requests"), parent), m_bridge(parts.bridge), m_selection(parts.selection), m_table(new QTableView) {
  buildTable();
  connectSelection();
  connect(&parts.record, &models::RunRecord::changed, this, [this] {
    if (isVisible() && !visibleRegion().isEmpty()) refresh();
  });
  auto* copy = new QToolButton;
  copy->setText(tr("CSV"));
  copy->setProperty("role", "small");
  copy->setAccessibleName(tr("Copy requests as CSV"));
  setCorner(copy);
  connect(copy, &QToolButton::clicked, this, &RequestsPanel::copyCsv);
  auto* keys = new QShortcut(QKeySequence::Copy, m_table, nullptr, nullptr, Qt::WidgetWithChildrenShortcut);
  connect(keys, &QShortcut::activated, this, &RequestsPanel::copyCsv);
  body()->addWidget(m_table, 1);
}

void RequestsPanel::buildTable() {
  m_table->setModel(&m_model);
  m_table->setAccessibleName(tr("Requests and what each is doing"));
  m_table->setSelectionBehavior(QAbstractItemView::SelectRows);
  m_table->setSelectionMode(QAbstractItemView::SingleSelection);
  m_table->setEditTriggers(QAbstractItemView::NoEditTriggers);
  m_table->setShowGrid(false);
  m_table->setMouseTracking(true);
  m_table->setTabKeyNavigation(false);
  m_table->setWordWrap(false);
  m_table->verticalHeader()->hide();
  QHeaderView* header = m_table->horizontalHeader();
  header->setHighlightSections(false);
  header->setSectionResizeMode(QHeaderView::Interactive);
  header->setStretchLastSection(true);
  fitText();
}

void RequestsPanel::fitText() {
  constexpr int kWidths[] = {70, 66, 78, 58, 54, 72, 60, 60};  // the stretch makes the last wider where there is room
  for (int column = 0; column <= RequestTableModel::Why; ++column) {
    m_table->horizontalHeader()->resizeSection(column, static_cast<int>(style::scaledPx(kWidths[column])));
  }
  m_table->verticalHeader()->setDefaultSectionSize(static_cast<int>(style::scaledPx(24)));
}

void RequestsPanel::changeEvent(QEvent* event) {
  Card::changeEvent(event);
  if (event->type() == QEvent::FontChange) fitText();
}

void RequestsPanel::connectSelection() {
  connect(m_table, &QTableView::entered, this, [this](const QModelIndex& index) {
    m_selection.hoverRequest(m_model.requestAt(index.row()));
  });
  connect(m_table->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          [this](const QModelIndex& index) {
            if (!m_isShowingSelection) m_selection.pinRequest(m_model.requestAt(index.row()));
          });
  connect(&m_selection, &bridge::Selection::changed, this, [this] {
    m_isShowingSelection = true;
    m_model.setRange(m_selection.timeRange());
    m_isShowingSelection = false;
    showSelection();
  });
}

void RequestsPanel::showSelection() {
  const int row = m_model.rowOf(m_selection.shownRequest());
  m_isShowingSelection = true;
  if (row < 0) {
    m_table->clearSelection();
  } else if (m_table->currentIndex().row() != row || !m_table->selectionModel()->hasSelection()) {
    m_table->selectRow(row);
  }
  m_isShowingSelection = false;
}

void RequestsPanel::copyCsv() { QApplication::clipboard()->setText(models::csvOf(m_model)); }

void RequestsPanel::showEvent(QShowEvent* event) {
  Card::showEvent(event);
  refresh();
}

void RequestsPanel::refresh() {
  const auto& snapshot = m_bridge.snapshot();
  m_isShowingSelection = true;
  m_model.setSnapshot(snapshot);
  m_isShowingSelection = false;
  showSelection();
  int running = 0, waiting = 0;
  if (snapshot) {
    for (const engine::RequestSnapshot& request : snapshot->requests) {
      running += request.state == engine::RequestState::Prefilling || request.state == engine::RequestState::Decoding;
      waiting += request.state == engine::RequestState::Waiting || request.state == engine::RequestState::Preempted ||
                 request.state == engine::RequestState::Tokenising;
    }
  }
  const QString figure = tr("%1 running · %2 waiting").arg(running).arg(waiting);
  setFigure(m_selection.timeRange() ? tr("%1 · those of the selected time").arg(figure) : figure);
}

}  // namespace ui::panels
