#include "ui/panels/teach_panel.h"

#include <QButtonGroup>
#include <QHBoxLayout>
#include <QPushButton>
#include <QSplitter>
#include <QStackedWidget>
#include <QVBoxLayout>

#include "ui/bridge/engine_bridge.h"
#include "ui/bridge/selection.h"
#include "ui/panels/block_map_panel.h"
#include "ui/panels/card.h"
#include "ui/panels/requests_panel.h"
#include "ui/panels/why_panel.h"
#include "ui/views/batch_strip_view.h"
#include "ui/views/timeline_view.h"

namespace ui::panels {

TeachPanel::TeachPanel(bridge::EngineBridge& bridge, bridge::Selection& selection, QWidget* parent)
    : QWidget(parent),
      m_bridge(bridge),
      m_selection(selection),
      m_blockMap(new BlockMapPanel(selection)),
      m_batch(new Card(tr("Batch, one column per iteration"))),
      m_strip(new views::BatchStripView(selection, m_history)),
      m_timelineCard(new Card(tr("Requests over time"))),
      m_timeline(new views::TimelineView(selection, m_lanes)),
      m_requests(new RequestsPanel(selection)),
      m_why(new WhyPanel(selection)),
      m_column(new QSplitter(Qt::Vertical)),
      m_stack(new QStackedWidget) {
  buildLayout();
  connect(&m_selection, &bridge::Selection::changed, this, &TeachPanel::showFigure);
  connect(&m_bridge, &bridge::EngineBridge::frameReady, this, &TeachPanel::onFrame);
}

void TeachPanel::buildLayout() {
  m_batch->body()->addWidget(m_strip, 1);
  m_timelineCard->body()->addWidget(m_timeline, 1);
  m_timelineCard->setCorner(makeSwitch());
  m_requests->setCorner(makeSwitch());
  m_stack->addWidget(m_requests);
  auto* below = new QSplitter(Qt::Horizontal);
  below->addWidget(m_stack);
  below->addWidget(m_why);
  below->setStretchFactor(0, 5);
  below->setStretchFactor(1, 3);
  below->setSizes({620, 340});
  m_column->addWidget(m_blockMap);
  m_column->addWidget(m_batch);
  m_column->addWidget(m_timelineCard);
  m_column->addWidget(below);
  constexpr int kStretches[] = {5, 3, 4, 3};
  for (int i = 0; i < 4; ++i) m_column->setStretchFactor(i, kStretches[i]);
  m_column->setSizes({380, 170, 230, 190});
  for (QSplitter* splitter : {below, m_column}) {
    splitter->setHandleWidth(10);
    splitter->setChildrenCollapsible(false);
  }
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(10, 10, 10, 10);
  layout->addWidget(m_column);
  for (QWidget* tabs : m_switches) tabs->hide();
}

// Two small switches, one of which is on: the table, the timeline.
QWidget* TeachPanel::makeSwitch() {
  auto* tabs = new QWidget;
  auto* row = new QHBoxLayout(tabs);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(4);
  auto* group = new QButtonGroup(tabs);
  const bool isTimeline = m_switches.empty();  // the timeline's own comes first
  QPushButton* own = nullptr;
  for (const bool toTimeline : {false, true}) {
    auto* button = new QPushButton(toTimeline ? tr("over time") : tr("table"));
    button->setProperty("role", "chip");
    button->setCheckable(true);
    button->setAccessibleName(toTimeline ? tr("Show requests over time") : tr("Show requests as a table"));
    group->addButton(button);
    row->addWidget(button);
    connect(button, &QPushButton::clicked, this, [this, toTimeline] { showTimeline(toTimeline); });
    if (toTimeline == isTimeline) own = button;
  }
  own->setChecked(true);
  // the card that appears has a switch of its own; this one shows its own card again when it comes back
  connect(group, &QButtonGroup::buttonClicked, own, [own] { own->setChecked(true); });
  m_switches.push_back(tabs);
  return tabs;
}

void TeachPanel::showTimeline(bool isInFront) {
  m_isTimelineInFront = isInFront;
  if (m_isTimelineInStack) m_stack->setCurrentWidget(isInFront ? static_cast<QWidget*>(m_timelineCard) : m_requests);
  if (isVisible()) refresh();
}

void TeachPanel::placeTimeline() {
  const bool isInStack = height() < kTimelineNeedsHeight;
  if (isInStack == m_isTimelineInStack) return;
  m_isTimelineInStack = isInStack;
  for (QWidget* tabs : m_switches) tabs->setVisible(isInStack);
  if (isInStack) {
    m_stack->addWidget(m_timelineCard);
    m_column->setSizes({340, 190, 200});
  } else {
    m_stack->removeWidget(m_timelineCard);
    m_column->insertWidget(2, m_timelineCard);
    m_column->setSizes({380, 170, 230, 190});
    m_timelineCard->show();
  }
  showTimeline(m_isTimelineInFront);
}

void TeachPanel::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  placeTimeline();
}

void TeachPanel::onFrame(const bridge::Frame& frame) {
  // A paused view stands still, but loses nothing: what happened meanwhile is drawn when it goes on.
  if (frame.newlyLostEvents > 0) {
    m_history.markLoss();
    m_lanes.markLoss();
  }
  m_heldEvents.insert(m_heldEvents.end(), frame.events.begin(), frame.events.end());
  if (frame.isViewPaused) return;
  m_history.add(m_heldEvents);
  m_lanes.add(m_heldEvents);
  if (frame.snapshot && frame.isSnapshotNew) m_lanes.reconcile(*frame.snapshot);
  m_heldEvents.clear();
  if (isVisible()) refresh();
}

void TeachPanel::refresh() {
  const auto& snapshot = m_bridge.snapshot();
  m_blockMap->setSnapshot(snapshot);
  if (m_requests->isVisible()) m_requests->setSnapshot(snapshot);
  m_why->setSnapshot(snapshot);
  m_strip->refresh();
  if (m_timeline->isVisible()) m_timeline->refresh();
  showFigure();
  if (snapshot) {
    const engine::StepSummary& step = snapshot->lastStep;
    m_batch->setFigure(tr("budget %1 tokens · stopped by: ▪ budget  ◆ no blocks  ● sequences  ○ queue empty").arg(step.budget));
  }
}

void TeachPanel::showFigure() {
  if (!m_timeline->isVisible()) return;
  const QString range = m_timeline->describeRange();
  m_timelineCard->setFigure(!range.isEmpty() ? range
                                             : tr("□ queued  ■ prefill  ▬ decode  ▨ waiting in batch  × preempted · "
                                                  "scroll to zoom, shift-drag to select"));
}

void TeachPanel::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  refresh();
}

}  // namespace ui::panels
