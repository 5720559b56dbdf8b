#include "ui/panels/teach_panel.h"

#include <QHBoxLayout>
#include <QSplitter>
#include <QVBoxLayout>

#include "ui/bridge/engine_bridge.h"
#include "ui/bridge/selection.h"
#include "ui/panels/block_map_panel.h"
#include "ui/panels/card.h"
#include "ui/panels/requests_panel.h"
#include "ui/panels/why_panel.h"
#include "ui/views/batch_strip_view.h"

namespace ui::panels {

TeachPanel::TeachPanel(bridge::EngineBridge& bridge, bridge::Selection& selection, QWidget* parent)
    : QWidget(parent),
      m_bridge(bridge),
      m_selection(selection),
      m_blockMap(new BlockMapPanel(selection)),
      m_batch(new Card(tr("Batch, one column per iteration"))),
      m_strip(new views::BatchStripView(selection, m_history)),
      m_requests(new RequestsPanel(selection)),
      m_why(new WhyPanel(selection)) {
  buildLayout();
  connect(&m_bridge, &bridge::EngineBridge::frameReady, this, &TeachPanel::onFrame);
}

void TeachPanel::buildLayout() {
  m_batch->body()->addWidget(m_strip, 1);
  auto* below = new QSplitter(Qt::Horizontal);
  below->addWidget(m_requests);
  below->addWidget(m_why);
  below->setStretchFactor(0, 5);
  below->setStretchFactor(1, 3);
  below->setSizes({620, 340});
  auto* column = new QSplitter(Qt::Vertical);
  column->addWidget(m_blockMap);
  column->addWidget(m_batch);
  column->addWidget(below);
  column->setStretchFactor(0, 5);
  column->setStretchFactor(1, 3);
  column->setStretchFactor(2, 3);
  column->setSizes({480, 220, 260});
  for (QSplitter* splitter : {below, column}) {
    splitter->setHandleWidth(10);
    splitter->setChildrenCollapsible(false);
  }
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(10, 10, 10, 10);
  layout->addWidget(column);
}

void TeachPanel::onFrame(const bridge::Frame& frame) {
  // A paused view stands still, but loses nothing: what happened meanwhile is drawn when it goes on.
  if (frame.newlyLostEvents > 0) m_history.markLoss();
  m_heldEvents.insert(m_heldEvents.end(), frame.events.begin(), frame.events.end());
  if (frame.isViewPaused) return;
  m_history.add(m_heldEvents);
  m_heldEvents.clear();
  if (isVisible()) refresh();
}

void TeachPanel::refresh() {
  const auto& snapshot = m_bridge.snapshot();
  m_blockMap->setSnapshot(snapshot);
  m_requests->setSnapshot(snapshot);
  m_why->setSnapshot(snapshot);
  m_strip->refresh();
  if (snapshot) {
    const engine::StepSummary& step = snapshot->lastStep;
    m_batch->setFigure(tr("budget %1 tokens · stopped by: ▪ budget  ◆ no blocks  ● sequences  ○ queue empty").arg(step.budget));
  }
}

void TeachPanel::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  refresh();
}

}  // namespace ui::panels
