// The Teach perspective's middle and right: block map, batch, timeline, requests, and why.
#pragma once

#include <QWidget>

#include "ui/bridge/frame.h"
#include "ui/models/step_history.h"
#include "ui/models/timeline_lanes.h"

class QSplitter;
class QStackedWidget;

namespace ui::bridge {
class EngineBridge;
class Selection;
}
namespace ui::views {
class BatchStripView;
class TimelineView;
}

namespace ui::panels {

class BlockMapPanel;
class Card;
class RequestsPanel;
class WhyPanel;

// Ui thread only. The timeline has a row of its own where there is height for it, else it shares the
// place of the table of requests. Hidden, it records events but draws nothing.
class TeachPanel : public QWidget {
  Q_OBJECT

 public:
  // Both must outlive the panel.
  TeachPanel(bridge::EngineBridge& bridge, bridge::Selection& selection, QWidget* parent = nullptr);

  static constexpr int kTimelineNeedsHeight = 820;

  BlockMapPanel& blockMap() { return *m_blockMap; }
  views::TimelineView& timeline() { return *m_timeline; }
  // Where both share one place: which is in front.
  void showTimeline(bool isInFront);

 protected:
  void showEvent(QShowEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void buildLayout();
  QWidget* makeSwitch();
  void placeTimeline();
  void onFrame(const bridge::Frame& frame);
  void refresh();
  void showFigure();

  bridge::EngineBridge& m_bridge;
  bridge::Selection& m_selection;
  models::StepHistory m_history;
  models::TimelineLanes m_lanes;
  std::vector<engine::TraceEvent> m_heldEvents;  // while the view is paused
  BlockMapPanel* m_blockMap;
  Card* m_batch;
  views::BatchStripView* m_strip;
  Card* m_timelineCard;
  views::TimelineView* m_timeline;
  RequestsPanel* m_requests;
  WhyPanel* m_why;
  QSplitter* m_column;
  QStackedWidget* m_stack;
  std::vector<QWidget*> m_switches;
  bool m_isTimelineInStack = false, m_isTimelineInFront = false;
};

}  // namespace ui::panels
