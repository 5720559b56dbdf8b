#include "ui/models/run_record.h"

#include "ui/bridge/engine_bridge.h"

namespace ui::models {

RunRecord::RunRecord(bridge::EngineBridge& bridge, QObject* parent) : QObject(parent) {
  connect(&bridge, &bridge::EngineBridge::frameReady, this, &RunRecord::onFrame);
}

void RunRecord::clear() {
  m_steps.clear();
  m_lanes.clear();
  m_figures = {};
  m_acceptance.clear();
  m_heldEvents.clear();
}

void RunRecord::onFrame(const bridge::Frame& frame) {
  if (frame.hasRestarted) {
    clear();
    emit restarted();
  }
  if (frame.newlyLostEvents > 0) {
    m_steps.markLoss();
    m_lanes.markLoss();
    m_figures.markLoss();
  }
  m_heldEvents.insert(m_heldEvents.end(), frame.events.begin(), frame.events.end());
  if (frame.isViewPaused) return;
  if (frame.snapshot) m_figures.setPoolBlocks(frame.snapshot->pool ? frame.snapshot->pool->numBlocks : 0);
  m_steps.add(m_heldEvents);
  m_lanes.add(m_heldEvents);
  m_figures.add(m_heldEvents);
  m_acceptance.add(m_heldEvents);
  m_heldEvents.clear();
  if (frame.snapshot && frame.isSnapshotNew) m_lanes.reconcile(*frame.snapshot);
  emit changed();
}

engine::StepId RunRecord::stepAt(std::int64_t ns) const {
  const int index = m_steps.indexAt(ns);
  return index < 0 ? engine::StepId() : engine::StepId(m_steps.columns()[static_cast<std::size_t>(index)].iteration.id);
}

}  // namespace ui::models
