// The Tune perspective's figures: how long users wait, and what the engine gets done.
#pragma once

#include <QTimer>
#include <QWidget>
#include <vector>

#include "ui/bridge/frame.h"
#include "ui/models/run_figures.h"

namespace ui::bridge {
class EngineBridge;
class Selection;
}
namespace ui::views {
class PlotView;
}

namespace ui::panels {

class Card;

// Ui thread only. Hidden, it records events but draws nothing. Curves are drawn again a few times a
// second at most. A range selected on any view limits the waiting times to it.
class TunePanel : public QWidget {
  Q_OBJECT

 public:
  // Both must outlive the panel.
  TunePanel(bridge::EngineBridge& bridge, bridge::Selection& selection, QWidget* parent = nullptr);

  const models::RunFigures& figures() const { return m_figures; }
  // "P50 176 ms · P90 428 ms · P99 611 ms · n = 1,204"; P99 only from enough samples.
  static QString percentileText(const std::vector<double>& sorted);

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  struct Plot {
    Card* card;
    views::PlotView* view;
  };

  void buildPlots();
  void buildLayout();
  void connectPlots();
  void onFrame(const bridge::Frame& frame);
  void refresh();
  void showWaiting();
  void showOverTime();
  void showCursor();

  bridge::EngineBridge& m_bridge;
  bridge::Selection& m_selection;
  models::RunFigures m_figures;
  std::vector<engine::TraceEvent> m_heldEvents;  // while the view is paused
  QTimer m_refreshTimer;
  Plot m_ttft, m_itl, m_tokens, m_queue, m_kv;
};

}  // namespace ui::panels
