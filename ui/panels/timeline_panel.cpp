#include "ui/panels/timeline_panel.h"

#include "ui/models/run_tables.h"
#include "ui/views/timeline_view.h"

namespace ui::panels {

TimelinePanel::TimelinePanel(const ViewParts& parts, QWidget* parent)
    : ViewCard(tr("Requests over time"), parts.selection, parent),
      m_timeline(new views::TimelineView(parts.selection, parts.record.lanes())) {
  setView(m_timeline);
  setTable(std::make_unique<models::LaneTable>(parts.selection, parts.record));
  connect(&parts.record, &models::RunRecord::changed, this, &TimelinePanel::moveOn);
  // seen or not: what its rows pointed at is gone
  connect(&parts.record, &models::RunRecord::restarted, this, [this] { m_timeline->follow(); });
  connect(&parts.selection, &bridge::Selection::changed, this, [this] {
    if (isSeen()) showFigure();
  });
}

void TimelinePanel::refreshView() {
  m_timeline->refresh();
  showFigure();
}

void TimelinePanel::showFigure() {
  const QString range = m_timeline->describeRange();
  setFigure(!range.isEmpty() ? range
                             : tr("□ queued  ■ prefill  ▬ decode  ▨ waiting in batch  × preempted · "
                                  "scroll to zoom, shift-drag to select"));
}

}  // namespace ui::panels
