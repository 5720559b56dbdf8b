#include "ui/panels/tune_panel.h"

#include <QGridLayout>
#include <algorithm>
#include <limits>

#include "ui/bridge/engine_bridge.h"
#include "ui/bridge/selection.h"
#include "ui/panels/card.h"
#include "ui/style/format.h"
#include "ui/views/plot_view.h"

namespace ui::panels {

using models::LatencySamples;
using style::Role;
using views::PlotCurve;
using views::PlotView;

namespace {

constexpr int kRefreshMs = 200;
constexpr std::int64_t kShownNs = 60'000'000'000;  // the last minute
constexpr std::int64_t kLeastShownNs = 5'000'000'000;

double seconds(std::int64_t ns) { return static_cast<double>(ns) / 1e9; }

// A round number above `value`: 1, 2 or 5 times a power of ten, or halfway between.
double roundAbove(double value) {
  double decade = 1;
  while (decade * 10 <= value) decade *= 10;
  for (double factor : {1.0, 1.5, 2.0, 3.0, 5.0, 7.5}) {
    if (factor * decade >= value) return factor * decade;
  }
  return 10 * decade;
}

double lastOf(const models::Series& series) { return series.points().empty() ? 0 : series.points().back().value; }

}  // namespace

TunePanel::TunePanel(bridge::EngineBridge& bridge, bridge::Selection& selection, QWidget* parent)
    : QWidget(parent), m_bridge(bridge), m_selection(selection) {
  buildPlots();
  buildLayout();
  connectPlots();
  m_refreshTimer.setSingleShot(true);
  m_refreshTimer.setInterval(kRefreshMs);
  connect(&m_refreshTimer, &QTimer::timeout, this, &TunePanel::refresh);
  connect(&m_bridge, &bridge::EngineBridge::frameReady, this, &TunePanel::onFrame);
}

void TunePanel::buildPlots() {
  const auto make = [](const QString& title, const QString& unit, const std::vector<PlotCurve>& curves) {
    Plot plot{new Card(unit.isEmpty() ? title : tr("%1, %2").arg(title, unit)), new PlotView(title, curves)};
    plot.card->body()->addWidget(plot.view, 1);
    return plot;
  };
  m_ttft = make(tr("Time to first token"), tr("ms"), {{tr("requests, %"), Role::Prefill, Qt::SolidLine, true}});
  m_itl = make(tr("Time between tokens"), tr("ms"),
               {{tr("each token"), Role::Prefill, Qt::SolidLine, true},
                {tr("mean of each request"), Role::Waiting, Qt::DashLine, true}});
  m_itl.view->setLegendCorner(Qt::AlignBottom | Qt::AlignRight);
  m_tokens = make(tr("Tokens per second"), {}, {{tr("out"), Role::Decode}, {tr("in"), Role::Prefill, Qt::DashLine}});
  m_queue = make(tr("Requests"), {}, {{tr("running"), Role::Accepted, Qt::SolidLine, true},
                                  {tr("waiting"), Role::Waiting, Qt::DashLine, true}});
  m_kv = make(tr("KV memory in use"), tr("%"), {{tr("used"), Role::Prefill, Qt::SolidLine, true}});
}

void TunePanel::buildLayout() {
  auto* grid = new QGridLayout(this);
  grid->setContentsMargins(10, 10, 10, 10);
  grid->setSpacing(10);
  grid->addWidget(m_ttft.card, 0, 0);
  grid->addWidget(m_itl.card, 0, 1);
  grid->addWidget(m_tokens.card, 1, 0, 1, 2);
  grid->addWidget(m_queue.card, 2, 0, 1, 2);
  grid->addWidget(m_kv.card, 3, 0, 1, 2);
  constexpr int kStretches[] = {5, 3, 3, 3};
  for (int row = 0; row < 4; ++row) grid->setRowStretch(row, kStretches[row]);
  grid->setColumnStretch(0, 1);
  grid->setColumnStretch(1, 1);
}

void TunePanel::connectPlots() {
  for (const Plot& plot : {m_ttft, m_itl, m_tokens, m_queue, m_kv}) {
    connect(plot.view, &PlotView::redrawn, this, [this](double ms) { m_bridge.addPaintMs(ms); });
  }
  for (const Plot& plot : {m_tokens, m_queue, m_kv}) {
    connect(plot.view, &PlotView::hovered, this, [this](std::optional<double> x) {
      m_selection.setTimeCursorNs(x ? std::optional(static_cast<std::int64_t>(*x * 1e9)) : std::nullopt);
    });
  }
  connect(&m_selection, &bridge::Selection::changed, this, &TunePanel::showCursor);
}

void TunePanel::onFrame(const bridge::Frame& frame) {
  if (frame.newlyLostEvents > 0) m_figures.markLoss();
  m_heldEvents.insert(m_heldEvents.end(), frame.events.begin(), frame.events.end());
  if (frame.isViewPaused) return;
  if (frame.snapshot) m_figures.setPoolBlocks(frame.snapshot->pool ? frame.snapshot->pool->numBlocks : 0);
  m_figures.add(m_heldEvents);
  m_heldEvents.clear();
  if (isVisible() && !m_refreshTimer.isActive()) m_refreshTimer.start();
}

QString TunePanel::percentileText(const std::vector<double>& sorted) {
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

void TunePanel::showWaiting() {
  const auto range = m_selection.timeRange();
  const std::int64_t from = range ? range->t0Ns : 0;
  const std::int64_t to = range ? range->t1Ns : std::numeric_limits<std::int64_t>::max();
  const auto show = [&](const Plot& plot, int curve, const std::vector<double>& sorted) {
    plot.view->setDistribution(curve, sorted);
    if (curve > 0) return;
    const auto tail = LatencySamples::percentile(sorted, 90);
    // a few stragglers do not squeeze the rest against the left edge; the figures still tell of them
    const double most = tail ? std::min(sorted.back(), 4 * *tail) : 1;
    plot.view->setRanges(0, roundAbove(most), 100);
    std::vector<views::PlotMark> marks;
    for (const int percent : {50, 90, 99}) {
      if (const auto value = LatencySamples::percentile(sorted, percent)) marks.push_back({*value, tr("P%1").arg(percent)});
    }
    plot.view->setMarks(marks);
    plot.view->setEmptyText(sorted.empty() ? tr("No answer yet. Send a message.") : QString());
    plot.card->setFigure(percentileText(sorted) + (range ? tr(" · in the selected time") : QString()));
    plot.view->redraw();
  };
  show(m_ttft, 0, m_figures.timeToFirstToken().sorted(from, to));
  show(m_itl, 1, m_figures.timePerOutputToken().sorted(from, to));
  show(m_itl, 0, m_figures.timeBetweenTokens().sorted(from, to));
}

void TunePanel::showOverTime() {
  const std::int64_t to = m_figures.latestNs();
  const std::int64_t from = std::max<std::int64_t>(0, std::clamp(m_figures.firstNs(), to - kShownNs, to - kLeastShownNs));
  const auto show = [&](const Plot& plot, const std::vector<const models::Series*>& series, double least) {
    double most = least;
    for (std::size_t i = 0; i < series.size(); ++i) {
      const int curve = static_cast<int>(i);
      plot.view->setSeries(curve, series[i]->thinned(from, to + 1, plot.view->plotWidth()));
      most = std::max(most, plot.view->greatest(curve));
    }
    plot.view->setRanges(seconds(from), seconds(to), roundAbove(most * 1.05));
    const auto range = m_selection.timeRange();
    plot.view->setBand(range ? std::optional(std::pair(seconds(range->t0Ns), seconds(range->t1Ns))) : std::nullopt);
    plot.view->setEmptyText(m_figures.isEmpty() ? tr("No iteration yet. Send a message.") : QString());
    plot.view->redraw();
  };
  show(m_tokens, {&m_figures.tokensOut().series(), &m_figures.tokensIn().series()}, 1);
  show(m_queue, {&m_figures.running(), &m_figures.waiting()}, 2);
  show(m_kv, {&m_figures.kvUsed()}, 95);
  if (m_figures.isEmpty()) return;
  m_tokens.card->setFigure(tr("out %1 · in %2 · half-second means")
                               .arg(style::formatTokensPerSecond(lastOf(m_figures.tokensOut().series())),
                                    style::formatTokensPerSecond(lastOf(m_figures.tokensIn().series()))));
  m_queue.card->setFigure(tr("%1 running · %2 waiting at the last iteration")
                              .arg(lastOf(m_figures.running())).arg(lastOf(m_figures.waiting())));
  const bool hasPool = !m_figures.kvUsed().points().empty();
  m_kv.card->setFigure(hasPool ? style::formatPercent(lastOf(m_figures.kvUsed()) / 100) : tr("unknown"));
}

void TunePanel::refresh() {
  if (!isVisible()) return;
  showWaiting();
  showOverTime();
}

void TunePanel::showCursor() {
  if (!isVisible()) return;
  const auto cursor = m_selection.timeCursorNs();
  for (const Plot& plot : {m_tokens, m_queue, m_kv}) {
    plot.view->setCursor(cursor ? std::optional(seconds(*cursor)) : std::nullopt);
  }
  // a new range changes what is counted
  if (!m_refreshTimer.isActive() && !cursor) m_refreshTimer.start();
}

void TunePanel::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  QTimer::singleShot(0, this, &TunePanel::refresh);  // after the plots have their size
  refresh();
}

}  // namespace ui::panels
