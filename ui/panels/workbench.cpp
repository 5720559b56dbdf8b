#include "ui/panels/workbench.h"

#include <QAction>
#include <QMouseEvent>
#include <QSettings>
#include <QTabBar>
#include <QTabWidget>
#include <algorithm>

#include "ui/panels/card.h"
#include "ui/panels/dock.h"
#include "ui/style/fonts.h"

namespace ui::panels {

namespace {

// Of the perspectives with many views, at the usual text size.
constexpr int kLeastTeachWidth = 1000, kLeastTuneWidth = 1090, kLeastHeight = 550;
constexpr int kLayoutVersion = 1;  // another number forgets layouts of other sets of docks

// A cell is a pile of tabs, the first in front; a row is cells side by side; a column is rows.
using Cell = std::vector<const char*>;
struct Row {
  int share;
  std::vector<Cell> cells;
};
struct Column {
  int share;
  std::vector<Row> rows;
};

const std::vector<Column>& columnsOf(Perspective perspective) {
  static const std::vector<Column> chat{{1, {{1, {{"chat"}}}}}};
  static const std::vector<Column> teach{
      {22, {{1, {{"chat"}}}}},
      {50, {{40, {{"blocks"}}}, {24, {{"batch"}}}, {36, {{"timeline", "requests"}}}}},
      {28, {{34, {{"why"}}}, {28, {{"speculation"}}}, {38, {{"knobs", "traffic"}}}}}};
  static const std::vector<Column> tune{
      {24, {{52, {{"knobs"}}}, {48, {{"traffic"}}}}},
      {50, {{34, {{"ttft"}, {"itl"}}}, {22, {{"tokens"}}}, {22, {{"queue"}}}, {22, {{"kv"}}}}},
      {26, {{26, {{"speculation"}}}, {26, {{"batch"}}}, {48, {{"timeline", "requests", "blocks"}}}}}};
  switch (perspective) {
    case Perspective::Teach: return teach;
    case Perspective::Tune: return tune;
    default: return chat;
  }
}

QString keyOf(Perspective perspective) {
  constexpr const char* kNames[] = {"chat", "teach", "tune"};
  return QStringLiteral("layout/%1").arg(QLatin1String(kNames[static_cast<int>(perspective)]));
}

}  // namespace

Workbench::Workbench(QWidget* parent) : QMainWindow(parent, Qt::Widget) {
  setDockOptions(QMainWindow::AllowNestedDocks | QMainWindow::AllowTabbedDocks);
  setTabPosition(Qt::AllDockWidgetAreas, QTabWidget::North);
  setDocumentMode(true);
  m_shareTimer.setSingleShot(true);
  connect(&m_shareTimer, &QTimer::timeout, this, [this] {
    keepReadable();
    if (!m_isPlaced || m_isCustomised) return;
    shareRoom();
    if (m_areFrontsDue && isVisible()) raiseFronts();
  });
}

Dock& Workbench::add(const QString& key, const QString& title, Card* card) {
  auto* dock = new Dock(key, title, card, this);
  m_docks.push_back(dock);
  const auto customised = [this] {
    if (!m_isArranging) m_isCustomised = true;
  };
  connect(dock, &Dock::closedByUser, this, customised);
  connect(dock, &QDockWidget::topLevelChanged, this, customised);
  connect(dock->toggleViewAction(), &QAction::triggered, this, [this, dock, customised](bool isShown) {
    customised();
    // one that has no place yet gets one at the right
    if (isShown && dockWidgetArea(dock) == Qt::NoDockWidgetArea) addDockWidget(Qt::LeftDockWidgetArea, dock, Qt::Horizontal);
    if (isShown) {
      dock->setBare(false);
      dock->show();
      dock->raise();
    }
  });
  dock->hide();
  return *dock;
}

Dock* Workbench::dock(const QString& key) const {
  const auto at = std::ranges::find(m_docks, key, &QObject::objectName);
  return at == m_docks.end() ? nullptr : *at;
}

QList<QAction*> Workbench::dockActions() const {
  QList<QAction*> actions;
  for (Dock* dock : m_docks) actions << dock->toggleViewAction();
  return actions;
}

void Workbench::setPerspective(Perspective perspective) {
  if (m_isPlaced && perspective == m_perspective) return;
  if (m_isPlaced) keepLayout();
  m_perspective = perspective;
  arrange();
}

void Workbench::keepLayout() {
  if (m_isCustomised) m_layouts[m_perspective] = saveState(kLayoutVersion);
  else m_layouts.erase(m_perspective);
}

void Workbench::resetLayout() {
  m_layouts.erase(m_perspective);
  arrange();
}

// Smaller, and words would be cut and plots too low to read: whoever holds it lets it scroll.
void Workbench::keepReadable() {
  const bool hasViews = m_perspective != Perspective::Chat;
  const int width = m_perspective == Perspective::Tune ? kLeastTuneWidth : kLeastTeachWidth;
  const QSize least(static_cast<int>(style::scaledPx(width)), static_cast<int>(style::scaledPx(kLeastHeight)));
  // docks that need more would else be laid one over another
  setMinimumSize(hasViews ? least.expandedTo(minimumSizeHint()) : QSize(0, 0));
}

void Workbench::changeEvent(QEvent* event) {
  QMainWindow::changeEvent(event);
  if (event->type() == QEvent::FontChange) keepReadable();
}

void Workbench::arrange() {
  m_isArranging = true;
  keepReadable();
  if (Dock* chat = dock(QStringLiteral("chat"))) chat->setBare(m_perspective == Perspective::Chat);
  placeColumns();
  const auto kept = m_layouts.find(m_perspective);
  m_isCustomised = kept != m_layouts.end() && restoreState(kept->second, kLayoutVersion);
  if (!m_isCustomised) shareRoom();
  m_areFrontsDue = !m_isCustomised;
  m_shareTimer.start(0);  // again when all have found their place
  m_isPlaced = true;
  m_isArranging = false;
  dressTabs();
}

void Workbench::placeColumns() {
  for (Dock* dock : m_docks) {
    dock->setFloating(false);
    removeDockWidget(dock);
  }
  const auto& columns = columnsOf(m_perspective);
  Dock* before = nullptr;
  for (const Column& column : columns) {
    Dock* first = dock(QLatin1String(column.rows.front().cells.front().front()));
    if (!before) addDockWidget(Qt::LeftDockWidgetArea, first);
    else splitDockWidget(before, first, Qt::Horizontal);
    before = first;
  }
  for (const Column& column : columns) {
    Dock* above = nullptr;
    for (const Row& row : column.rows) {
      Dock* left = dock(QLatin1String(row.cells.front().front()));
      if (above) splitDockWidget(above, left, Qt::Vertical);
      above = left;
    }
    for (const Row& row : column.rows) {
      Dock* left = nullptr;
      for (const Cell& cell : row.cells) {
        Dock* front = dock(QLatin1String(cell.front()));
        if (left) splitDockWidget(left, front, Qt::Horizontal);
        left = front;
        for (std::size_t i = 1; i < cell.size(); ++i) {
          Dock* behind = dock(QLatin1String(cell[i]));
          tabifyDockWidget(front, behind);
          behind->show();
        }
        front->show();
        front->raise();
      }
    }
  }
}

// Where raise() does nothing: to a dock that is the topmost already.
void Workbench::showTabOf(const Dock& dock) {
  for (auto* tabs : findChildren<QTabBar*>(QString(), Qt::FindDirectChildrenOnly)) {
    for (int tab = 0; tab < tabs->count(); ++tab) {
      if (tabs->tabText(tab) == dock.windowTitle()) tabs->setCurrentIndex(tab);
    }
  }
}

// Before the window is shown a pile of tabs does not remember which one was raised.
void Workbench::raiseFronts() {
  m_areFrontsDue = false;
  for (const Column& column : columnsOf(m_perspective)) {
    for (const Row& row : column.rows) {
      for (const Cell& cell : row.cells) {
        if (cell.size() > 1) showTabOf(*dock(QLatin1String(cell.front())));
      }
    }
  }
}

void Workbench::dressTabs() {
  for (auto* tabs : findChildren<QTabBar*>(QString(), Qt::FindDirectChildrenOnly)) {
    // setting it again would ask for another layout, without end; a bar that is used anew has its base line again
    if (tabs->elideMode() == Qt::ElideNone && !tabs->drawBase()) continue;
    tabs->setElideMode(Qt::ElideNone);
    tabs->setExpanding(false);
    tabs->setDrawBase(false);
  }
}

void Workbench::shareRoom() {
  QList<QDockWidget*> tops;
  QList<int> widths;
  for (const Column& column : columnsOf(m_perspective)) {
    // asked for its width, one beside others in its row would only push those aside
    const auto alone = std::ranges::find_if(column.rows, [](const Row& row) { return row.cells.size() == 1; });
    tops << dock(QLatin1String((alone == column.rows.end() ? column.rows.front() : *alone).cells.front().front()));
    widths << column.share * width() / 100;
  }
  resizePlaced(tops, widths, Qt::Horizontal);
  for (const Column& column : columnsOf(m_perspective)) {
    QList<QDockWidget*> rows;
    QList<int> heights;
    for (const Row& row : column.rows) {
      rows << dock(QLatin1String(row.cells.front().front()));
      heights << row.share * height() / 100;
      QList<QDockWidget*> cells;
      QList<int> cellWidths;
      for (const Cell& cell : row.cells) {
        cells << dock(QLatin1String(cell.front()));
        cellWidths << column.share * width() / 100 / static_cast<int>(row.cells.size());
      }
      resizePlaced(cells, cellWidths, Qt::Horizontal);
    }
    resizePlaced(rows, heights, Qt::Vertical);
  }
}

// Only what has a place in the layout can be asked to grow.
void Workbench::resizePlaced(const QList<QDockWidget*>& docks, const QList<int>& sizes, Qt::Orientation orientation) {
  QList<QDockWidget*> placed;
  QList<int> wanted;
  for (int i = 0; i < docks.size(); ++i) {
    if (docks[i]->isHidden() || docks[i]->isFloating()) continue;
    placed << docks[i];
    wanted << sizes[i];
  }
  if (placed.size() > 1) resizeDocks(placed, wanted, orientation);
}

void Workbench::loadLayouts(const QSettings& settings) {
  for (const Perspective perspective : {Perspective::Chat, Perspective::Teach, Perspective::Tune}) {
    const QByteArray kept = settings.value(keyOf(perspective)).toByteArray();
    if (!kept.isEmpty()) m_layouts[perspective] = kept;
  }
}

void Workbench::saveLayouts(QSettings& settings) {
  if (m_isPlaced) keepLayout();
  for (const Perspective perspective : {Perspective::Chat, Perspective::Teach, Perspective::Tune}) {
    const auto kept = m_layouts.find(perspective);
    if (kept == m_layouts.end()) settings.remove(keyOf(perspective));
    else settings.setValue(keyOf(perspective), kept->second);
  }
}

bool Workbench::event(QEvent* event) {
  // the strips between docks belong to this widget itself: who presses there moves them
  if (event->type() == QEvent::MouseButtonPress && !childAt(static_cast<QMouseEvent*>(event)->position().toPoint())) {
    m_isCustomised = true;
  }
  if (event->type() == QEvent::LayoutRequest) dressTabs();  // moving docks makes new ones
  return QMainWindow::event(event);
}

void Workbench::resizeEvent(QResizeEvent* event) {
  QMainWindow::resizeEvent(event);
  if (m_isPlaced && !m_isCustomised) shareRoom();
  m_shareTimer.start(0);
}

void Workbench::showEvent(QShowEvent* event) {
  QMainWindow::showEvent(event);
  m_shareTimer.start(0);
}

}  // namespace ui::panels
