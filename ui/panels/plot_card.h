// A card with one plot, drawn again about once a second, joined to the shared time cursor.
#pragma once

#include "ui/models/run_record.h"
#include "ui/panels/view_card.h"
#include "ui/panels/view_parts.h"
#include "ui/views/plot_view.h"

namespace ui::panels {

// Ui thread only.
class PlotCard : public ViewCard {
  Q_OBJECT

 public:
  // Whether the plot's axis is the engine's clock.
  enum class Axis { Time, Value };
  struct Units {
    QString x, y;  // empty = a count
  };

  PlotCard(const ViewParts& parts,
           const QString& title,
           const Units& units,
           const std::vector<views::PlotCurve>& curves,
           Axis axis);

  views::PlotView& plot() { return *m_plot; }

  // The least round number that is not below `value`: 1, 1.5, 2, 3, 5 or 7.5 times a power of ten.
  static double roundAbove(double value);

 protected:
  // Reads the record and fills the plot.
  virtual void draw() = 0;
  void refreshView() override;
  models::RunRecord& record() const { return m_record; }

 private:
  void showCursor();

  bridge::EngineBridge& m_bridge;
  models::RunRecord& m_record;
  views::PlotView* m_plot;
  Axis m_axis;
  QTimer m_paceTimer;
  bool m_isBehind = false;  // something new since the last drawing
};

}  // namespace ui::panels
