// Figures of the engine over its clock: the last minute, or the time range that is selected.
#pragma once

#include <functional>

#include "ui/panels/plot_card.h"

namespace ui::panels {

// Ui thread only. Changes of knobs are marked.
class OverTimePanel : public PlotCard {
  Q_OBJECT

 public:
  struct Curve {
    views::PlotCurve look;
    const models::Series* series;  // the record's own
  };
  struct Plan {
    QString title, unit;
    std::vector<Curve> curves;
    double leastTop;                                           // of the value axis
    std::function<QString(const models::RunFigures&)> figure;  // of the title line
  };

  OverTimePanel(const ViewParts& parts, const Plan& plan);

  static Plan tokensPlan(const models::RunFigures& figures);
  static Plan requestsPlan(const models::RunFigures& figures);
  static Plan kvPlan(const models::RunFigures& figures);

 protected:
  void draw() override;

 private:
  bridge::TimeRange shownTime() const;

  Plan m_plan;
};

}  // namespace ui::panels
