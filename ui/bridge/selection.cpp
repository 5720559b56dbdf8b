#include "ui/bridge/selection.h"

namespace ui::bridge {

void Selection::clearHover() {
  if (m_hoveredRequest.isNone() && m_hoveredBlock.isNone() && m_hoveredStep.isNone()) return;
  m_hoveredRequest = {};
  m_hoveredBlock = {};
  m_hoveredStep = {};
  emit changed();
}

void Selection::clearPins() {
  if (m_pinnedRequest.isNone() && m_pinnedBlock.isNone() && m_pinnedStep.isNone()) return;
  m_pinnedRequest = {};
  m_pinnedBlock = {};
  m_pinnedStep = {};
  emit changed();
}

}  // namespace ui::bridge
