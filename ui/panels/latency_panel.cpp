#include "ui/panels/latency_panel.h"

#include <algorithm>

#include "ui/models/run_tables.h"
#include "ui/style/format.h"

namespace ui::panels {

using models::LatencySamples;
using style::Role;

namespace {

std::vector<views::PlotCurve> plotCurves(const std::vector<LatencyPanel::Curve>& curves) {
  std::vector<views::PlotCurve> all;
  for (const auto& curve : curves) {
    const bool isFirst = all.empty();
    all.push_back({curve.name, isFirst ? Role::Prefill : Role::Waiting, isFirst ? Qt::SolidLine : Qt::DashLine, true});
  }
  return all;
}

}  // namespace

LatencyPanel::LatencyPanel(const ViewParts& parts, const QString& title, const std::vector<Curve>& curves)
    : PlotCard(parts, title, {tr("ms"), tr("%")}, plotCurves(curves), Axis::Value), m_curves(curves) {
  setTable(std::make_unique<models::SampleTable>(parts.selection, *curves.front().samples));
}

QString LatencyPanel::percentileText(const std::vector<double>& sorted) {
  if (sorted.empty()) return tr("n = 0");
  QStringList parts;
  for (const int percent : {50, 90, 99}) {
    const auto value = LatencySamples::percentile(sorted, percent);
    if (value) parts << tr("P%1 %2").arg(percent).arg(style::formatMs(*value));
  }
  const auto count = static_cast<qint64>(sorted.size());
  parts << tr("n = %1").arg(style::formatCount(count));
  if (count < LatencySamples::kLeastForP99) parts << tr("P99 from n = %1").arg(LatencySamples::kLeastForP99);
  return parts.join(QStringLiteral(" · "));
}

void LatencyPanel::draw() {
  const auto range = models::rangeOf(selection());
  std::vector<double> first;
  for (std::size_t i = m_curves.size(); i-- > 0;) {
    first = m_curves[i].samples->sorted(range.t0Ns, range.t1Ns);
    plot().setDistribution(static_cast<int>(i), first);
  }
  const auto tail = LatencySamples::percentile(first, 90);
  // a few stragglers do not squeeze the rest against the left edge; the figures still tell of them
  plot().setRanges(0, roundAbove(tail ? std::min(first.back(), 4 * *tail) : 1), 100);
  std::vector<views::PlotMark> marks;
  for (const int percent : {50, 90, 99}) {
    if (const auto value = LatencySamples::percentile(first, percent)) marks.push_back({*value, tr("P%1").arg(percent)});
  }
  plot().setMarks(marks);
  plot().setEmptyText(first.empty() ? tr("No answer yet. Send a message or start traffic.") : QString());
  setFigure(percentileText(first) + (selection().timeRange() ? tr(" · in the selected time") : QString()));
  plot().redraw();
}

}  // namespace ui::panels
