// Requests over time, with the figures of the range that is selected.
#pragma once

#include "ui/models/timeline_lanes.h"
#include "ui/panels/view_card.h"
#include "ui/panels/view_parts.h"

namespace ui::views {
class KeyView;
class TimelineView;
}

namespace ui::panels {

// Ui thread only.
class TimelinePanel : public ViewCard {
  Q_OBJECT

 public:
  explicit TimelinePanel(const ViewParts& parts, QWidget* parent = nullptr);

  views::TimelineView& timeline() { return *m_timeline; }

 protected:
  void refreshView() override;

 private:
  void showFigure();

  const models::TimelineLanes& m_lanes;
  views::TimelineView* m_timeline;
  views::KeyView* m_key;
};

}  // namespace ui::panels
