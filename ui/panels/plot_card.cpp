#include "ui/panels/plot_card.h"

#include "ui/bridge/engine_bridge.h"

namespace ui::panels {

using views::PlotView;

namespace {

constexpr int kPaceMs = 800, kPaceSpreadMs = 400;

}  // namespace

PlotCard::PlotCard(const ViewParts& parts,
                   const QString& title,
                   const Units& units,
                   const std::vector<views::PlotCurve>& curves,
                   Axis axis)
    : ViewCard(title, parts.selection),
      m_bridge(parts.bridge),
      m_record(parts.record),
      m_plot(new PlotView(title, curves)),
      m_axis(axis) {
  m_plot->setUnits(units.x, units.y);
  setView(m_plot);
  m_paceTimer.setSingleShot(true);
  // plots of different paces are not all drawn in one frame
  m_paceTimer.setInterval(kPaceMs + static_cast<int>(qHash(title) % kPaceSpreadMs));
  connect(&m_paceTimer, &QTimer::timeout, this, [this] {
    if (m_isBehind && isSeen()) refreshView();
  });
  connect(m_plot, &PlotView::redrawn, this, [this](double ms) { m_bridge.addPaintMs(ms); });
  connect(m_plot, &PlotView::resized, this, &PlotCard::moveOn);
  connect(&m_record, &models::RunRecord::changed, this, &PlotCard::moveOn);
  connect(&parts.selection, &bridge::Selection::changed, this, &PlotCard::showCursor);
  if (m_axis == Axis::Value) return;
  connect(m_plot, &PlotView::hovered, this, [this](std::optional<double> x) {
    const auto ns = x ? std::optional(static_cast<std::int64_t>(*x * 1e9)) : std::nullopt;
    selection().setTimeCursorNs(ns);
    selection().hoverStep(ns ? m_record.stepAt(*ns) : engine::StepId());
  });
}

double PlotCard::roundAbove(double value) {
  double decade = 1;
  while (decade * 10 <= value) decade *= 10;
  for (double factor : {1.0, 1.5, 2.0, 3.0, 5.0, 7.5}) {
    if (factor * decade >= value) return factor * decade;
  }
  return 10 * decade;
}

void PlotCard::refreshView() {
  if (m_paceTimer.isActive()) {
    m_isBehind = true;
    return;
  }
  m_isBehind = false;
  draw();
  m_paceTimer.start();
}

void PlotCard::showCursor() {
  if (!isSeen() || isTableShown()) return;
  const auto cursor = selection().timeCursorNs();
  if (m_axis == Axis::Time) {
    m_plot->setCursor(cursor ? std::optional(static_cast<double>(*cursor) / 1e9) : std::nullopt);
  }
  if (!cursor) refreshView();  // another range changes what is counted
}

}  // namespace ui::panels
