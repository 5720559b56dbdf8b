// How long users wait, as a distribution of exact samples with its percentiles.
#pragma once

#include "ui/panels/plot_card.h"

namespace ui::panels {

// Ui thread only. A range selected on any view limits the samples to it.
class LatencyPanel : public PlotCard {
  Q_OBJECT

 public:
  struct Curve {
    QString name;
    const models::LatencySamples* samples;  // the record's own
  };

  // The first curve is the one whose percentiles are named.
  LatencyPanel(const ViewParts& parts, const QString& title, const std::vector<Curve>& curves);

  // "P50 176 ms · P90 428 ms · P99 611 ms · n = 1,204"; P99 only from enough samples.
  static QString percentileText(const std::vector<double>& sorted);

 protected:
  void draw() override;

 private:
  std::vector<Curve> m_curves;
};

}  // namespace ui::panels
