#include "ui/panels/over_time_panel.h"

#include <algorithm>

#include "ui/models/knob_text.h"
#include "ui/models/run_tables.h"
#include "ui/style/format.h"

namespace ui::panels {

using style::Role;

namespace {

constexpr std::int64_t kShownNs = 60'000'000'000;  // the last minute
constexpr std::int64_t kLeastShownNs = 5'000'000'000;
constexpr std::size_t kMostMarks = 24;  // the newest

double seconds(std::int64_t ns) { return static_cast<double>(ns) / 1e9; }

double lastOf(const models::Series& series) { return series.points().empty() ? 0 : series.points().back().value; }

std::vector<views::PlotCurve> plotCurves(const OverTimePanel::Plan& plan) {
  std::vector<views::PlotCurve> all;
  for (const auto& curve : plan.curves) all.push_back(curve.look);
  return all;
}

std::vector<models::SeriesTable::Curve> tableCurves(const OverTimePanel::Plan& plan) {
  std::vector<models::SeriesTable::Curve> all;
  for (const auto& curve : plan.curves) all.push_back({curve.look.name.isEmpty() ? QStringLiteral("%1, %2").arg(plan.title, plan.unit) : curve.look.name, curve.series, plan.unit.isEmpty()});
  return all;
}

}  // namespace

OverTimePanel::OverTimePanel(const ViewParts& parts, const Plan& plan)
    : PlotCard(parts, plan.title, {tr("s"), plan.unit}, plotCurves(plan), Axis::Time), m_plan(plan) {
  setTable(std::make_unique<models::SeriesTable>(parts.selection, tableCurves(plan)));
}

OverTimePanel::Plan OverTimePanel::tokensPlan(const models::RunFigures& figures) {
  return {tr("Tokens per second"), {},
          {{{tr("out"), Role::Decode}, &figures.tokensOut().series()},
           {{tr("in"), Role::Prefill, Qt::DashLine}, &figures.tokensIn().series()}},
          1, [](const models::RunFigures& now) {
            return tr("out %1 · in %2 · half-second means")
                .arg(style::formatTokensPerSecond(lastOf(now.tokensOut().series())),
                     style::formatTokensPerSecond(lastOf(now.tokensIn().series())));
          }};
}

OverTimePanel::Plan OverTimePanel::requestsPlan(const models::RunFigures& figures) {
  return {tr("Running and waiting"), {},
          {{{tr("running"), Role::Accepted, Qt::SolidLine, true}, &figures.running()},
           {{tr("waiting"), Role::Waiting, Qt::DashLine, true}, &figures.waiting()}},
          2, [](const models::RunFigures& now) {
            return tr("%1 running · %2 waiting at the last iteration").arg(lastOf(now.running())).arg(lastOf(now.waiting()));
          }};
}

OverTimePanel::Plan OverTimePanel::kvPlan(const models::RunFigures& figures) {
  return {tr("KV memory in use"), tr("%"), {{{{}, Role::Prefill, Qt::SolidLine, true}, &figures.kvUsed()}}, 95,
          [](const models::RunFigures& now) {
            return now.kvUsed().points().empty() ? tr("unknown") : style::formatPercent(lastOf(now.kvUsed()) / 100);
          }};
}

bridge::TimeRange OverTimePanel::shownTime() const {
  const auto& figures = record().figures();
  const std::int64_t to = figures.latestNs();
  return {std::max<std::int64_t>(0, std::clamp(figures.firstNs(), to - kShownNs, to - kLeastShownNs)), to};
}

void OverTimePanel::draw() {
  const auto& figures = record().figures();
  const auto chosen = selection().timeRange();
  const auto shown = chosen.value_or(shownTime());
  double most = m_plan.leastTop;
  for (std::size_t i = 0; i < m_plan.curves.size(); ++i) {
    const int curve = static_cast<int>(i);
    plot().setSeries(curve, m_plan.curves[i].series->thinned(shown.t0Ns, shown.t1Ns + 1, plot().plotWidth()));
    most = std::max(most, plot().greatest(curve));
  }
  plot().setRanges(seconds(shown.t0Ns), seconds(shown.t1Ns), m_plan.unit == QLatin1String("%") ? 100 : roundAbove(most * 1.05));
  std::vector<views::PlotMark> marks;
  for (const engine::KnobRecord& knob : record().knobs()) {
    if (shown.contains(knob.tNs)) marks.push_back({seconds(knob.tNs), models::describeKnobChange(knob)});
  }
  if (marks.size() > kMostMarks) marks.erase(marks.begin(), marks.end() - kMostMarks);
  plot().setMarks(marks);
  plot().setEmptyText(figures.isEmpty() ? tr("No iteration yet. Send a message or start traffic.") : QString());
  setFigure(figures.isEmpty() ? QString() : chosen ? tr("the selected time · %1").arg(m_plan.figure(figures)) : m_plan.figure(figures));
  plot().redraw();
}

}  // namespace ui::panels
