#include "ui/panels/timeline_panel.h"


#include "ui/models/run_tables.h"
#include "ui/views/key_view.h"
#include "ui/views/timeline_view.h"

namespace ui::panels {

namespace {

std::vector<views::KeyEntry> keyOfLanes() {
  using style::Role;
  using views::KeyMark;
  return {{KeyMark::Frame, Role::Waiting, TimelinePanel::tr("queued")},
          {KeyMark::Square, Role::Prefill, TimelinePanel::tr("prefill")},
          {KeyMark::Bar, Role::Decode, TimelinePanel::tr("decode")},
          {KeyMark::Bar, Role::Draft, TimelinePanel::tr("verify")},
          {KeyMark::Hatch, Role::Waiting, TimelinePanel::tr("waiting in batch")},
          {KeyMark::Cross, Role::Preempted, TimelinePanel::tr("preempted")}};
}

}  // namespace

TimelinePanel::TimelinePanel(const ViewParts& parts, QWidget* parent)
    : ViewCard(tr("Requests over time"), parts.selection, parent),
      m_lanes(parts.record.lanes()),
      m_timeline(new views::TimelineView(parts.selection, parts.record.lanes())),
      m_key(new views::KeyView(keyOfLanes())) {
  setView(m_timeline, m_key);
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
  m_key->setVisible(!m_lanes.lanes().empty());
  setFigure(!range.isEmpty() ? range : m_lanes.lanes().empty() ? QString() : tr("scroll to zoom · shift-drag to select"));
}

}  // namespace ui::panels
