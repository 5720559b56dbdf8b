// The run as the window remembers it: one record of steps, lives and figures, shared by every view.
#pragma once

#include <QObject>
#include <vector>

#include "ui/bridge/frame.h"
#include "ui/models/acceptance.h"
#include "ui/models/run_figures.h"
#include "ui/models/step_history.h"
#include "ui/models/timeline_lanes.h"

namespace ui::bridge {
class EngineBridge;
}

namespace ui::models {

// Ui thread only. While the view is held still nothing moves, and nothing is lost. When a recorded run
// goes back, or another engine is looked at, all of it begins anew.
class RunRecord : public QObject {
  Q_OBJECT

 public:
  // `bridge` must outlive the record.
  explicit RunRecord(bridge::EngineBridge& bridge, QObject* parent = nullptr);

  const StepHistory& steps() const { return m_steps; }
  const TimelineLanes& lanes() const { return m_lanes; }
  const RunFigures& figures() const { return m_figures; }
  const Acceptance& acceptance() const { return m_acceptance; }
  // Changes of knobs, in order.
  const std::vector<engine::KnobRecord>& knobs() const { return m_lanes.knobs(); }
  // The step that was computed at a time; none between steps.
  engine::StepId stepAt(std::int64_t ns) const;

 signals:
  // Views read again.
  void changed();
  // What was shown is gone: a recorded run went back, or another engine is looked at.
  void restarted();

 private:
  void onFrame(const bridge::Frame& frame);
  void clear();

  StepHistory m_steps;
  TimelineLanes m_lanes;
  RunFigures m_figures;
  Acceptance m_acceptance;
  std::vector<engine::TraceEvent> m_heldEvents;  // while the view is held
};

}  // namespace ui::models
