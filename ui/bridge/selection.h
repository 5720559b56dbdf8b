// What the user points at: one selection and one time cursor for all views.
#pragma once

#include <QObject>
#include <cstdint>
#include <optional>

#include "engine/base/ids.h"

namespace ui::bridge {

// A stretch of the engine's clock, t0Ns < t1Ns.
struct TimeRange {
  std::int64_t t0Ns, t1Ns;
  bool contains(std::int64_t ns) const { return ns >= t0Ns && ns < t1Ns; }
  friend bool operator==(const TimeRange&, const TimeRange&) = default;
};

// One object of each kind may be hovered (follows the mouse) and one pinned (a click, until the next).
// Setting what is already set emits nothing. Ui thread only.
class Selection : public QObject {
  Q_OBJECT

 public:
  using QObject::QObject;

  // None ids mean "nothing".
  engine::RequestId hoveredRequest() const { return m_hoveredRequest; }
  engine::RequestId pinnedRequest() const { return m_pinnedRequest; }
  engine::BlockId hoveredBlock() const { return m_hoveredBlock; }
  engine::BlockId pinnedBlock() const { return m_pinnedBlock; }
  engine::StepId hoveredStep() const { return m_hoveredStep; }
  engine::StepId pinnedStep() const { return m_pinnedStep; }
  std::optional<std::int64_t> timeCursorNs() const { return m_timeCursorNs; }
  std::optional<TimeRange> timeRange() const { return m_timeRange; }  // what figures are limited to

  // Hovered wins over pinned: what a view should emphasise now.
  engine::RequestId shownRequest() const {
    return m_hoveredRequest.isNone() ? m_pinnedRequest : m_hoveredRequest;
  }
  engine::BlockId shownBlock() const { return m_hoveredBlock.isNone() ? m_pinnedBlock : m_hoveredBlock; }
  engine::StepId shownStep() const { return m_hoveredStep.isNone() ? m_pinnedStep : m_hoveredStep; }

 public slots:
  void hoverRequest(engine::RequestId id) { assign(m_hoveredRequest, id); }
  void pinRequest(engine::RequestId id) { assign(m_pinnedRequest, id); }
  void hoverBlock(engine::BlockId id) { assign(m_hoveredBlock, id); }
  void pinBlock(engine::BlockId id) { assign(m_pinnedBlock, id); }
  void hoverStep(engine::StepId id) { assign(m_hoveredStep, id); }
  void pinStep(engine::StepId id) { assign(m_pinnedStep, id); }
  void setTimeCursorNs(std::optional<std::int64_t> ns) { assign(m_timeCursorNs, ns); }
  void setTimeRange(std::optional<TimeRange> range) { assign(m_timeRange, range); }
  void clearHover();
  void clearPins();

 signals:
  void changed();

 private:
  template <typename T>
  void assign(T& member, const T& value) {
    if (member == value) return;
    member = value;
    emit changed();
  }

  engine::RequestId m_hoveredRequest, m_pinnedRequest;
  engine::BlockId m_hoveredBlock, m_pinnedBlock;
  engine::StepId m_hoveredStep, m_pinnedStep;
  std::optional<std::int64_t> m_timeCursorNs;
  std::optional<TimeRange> m_timeRange;
};

}  // namespace ui::bridge
