// The Teach perspective's middle and right: block map, batch, requests, and why.
#pragma once

#include <QWidget>

#include "ui/bridge/frame.h"
#include "ui/models/step_history.h"

namespace ui::bridge {
class EngineBridge;
class Selection;
}
namespace ui::views {
class BatchStripView;
}

namespace ui::panels {

class BlockMapPanel;
class Card;
class RequestsPanel;
class WhyPanel;

// Ui thread only. Hidden, it records events but draws nothing.
class TeachPanel : public QWidget {
  Q_OBJECT

 public:
  // Both must outlive the panel.
  TeachPanel(bridge::EngineBridge& bridge, bridge::Selection& selection, QWidget* parent = nullptr);

  BlockMapPanel& blockMap() { return *m_blockMap; }

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  void buildLayout();
  void onFrame(const bridge::Frame& frame);
  void refresh();

  bridge::EngineBridge& m_bridge;
  bridge::Selection& m_selection;
  models::StepHistory m_history;
  std::vector<engine::TraceEvent> m_heldEvents;  // while the view is paused
  BlockMapPanel* m_blockMap;
  Card* m_batch;
  views::BatchStripView* m_strip;
  RequestsPanel* m_requests;
  WhyPanel* m_why;
};

}  // namespace ui::panels
