#include "ui/views/timeline_view.h"

#include <QHelpEvent>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "ui/style/fonts.h"
#include "ui/style/format.h"

namespace ui::views {

namespace {

constexpr double kMinRow = 15, kMaxRow = 22, kTopMargin = 2;
constexpr int kMostFlagRows = 3, kLeastRows = 4;  // fewer rows of requests, and no flag is written among them
constexpr double kRightMargin = 6;  // the newest end does not stick to the edge
constexpr std::int64_t kLeastShownNs = 2'000'000'000, kMostShownNs = 20'000'000'000;

QString kindName(models::SpanKind kind) {
  switch (kind) {
    case models::SpanKind::Prefill: return TimelineView::tr("prefill");
    case models::SpanKind::Decode: return TimelineView::tr("decode");
    case models::SpanKind::Verify: return TimelineView::tr("verify");
    default: return TimelineView::tr("waiting in the batch");
  }
}

QString duration(std::int64_t ns) { return style::formatMs(static_cast<double>(ns) / 1e6); }

}  // namespace

TimelineView::TimelineView(bridge::Selection& selection, const models::TimelineLanes& lanes, QWidget* parent)
    : QWidget(parent), m_selection(selection), m_lanes(lanes) {
  setMouseTracking(true);
  setAttribute(Qt::WA_OpaquePaintEvent);  // in its card's colour: nothing beneath is painted for it
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Requests over time"));
  setAccessibleDescription(tr("One row for each request; up and down choose a request, left and right its slices"));
  connect(&m_selection, &bridge::Selection::changed, this, qOverload<>(&QWidget::update));
}

void TimelineView::refresh() {
  if (m_isFollowing) placeAxis();
  invalidate();
}

void TimelineView::invalidate() {
  arrange();  // at once: the lanes behind the old rows may be gone
  m_isDirty = true;
  update();
}

void TimelineView::follow() {
  m_isFollowing = true;
  m_hasOwnZoom = false;
  refresh();
}

void TimelineView::placeAxis() {
  const std::int64_t latest = m_lanes.latestNs();
  const double width = std::max(1.0, plotRect().width() - kRightMargin);
  if (!m_hasOwnZoom) {
    const std::int64_t shown = std::clamp(latest - m_lanes.firstNs(), kLeastShownNs, kMostShownNs);
    m_axis = models::TimeAxis::fitting(latest - shown, latest, width);
  } else {
    m_axis.originNs = latest - static_cast<std::int64_t>(width * m_axis.nsPerPixel);
  }
  m_axis = m_axis.pannedBy(labelWidth());
}

void TimelineView::showAll() {
  m_isFollowing = false;
  m_hasOwnZoom = true;
  const QRectF plot = plotRect();
  m_axis = models::TimeAxis::fitting(m_lanes.firstNs(), m_lanes.latestNs(), plot.width() - kRightMargin)
               .pannedBy(plot.left());
  invalidate();
}

double TimelineView::labelWidth() { return style::scaledPx(76); }

double TimelineView::axisHeight() { return style::scaledPx(18); }

double TimelineView::flagHeight() { return style::scaledPx(14); }

QRectF TimelineView::plotRect() const {
  return {labelWidth(), kTopMargin, std::max(1.0, width() - labelWidth()),
          std::max(1.0, height() - axisHeight() - kTopMargin)};
}

int TimelineView::numFlagRows() const {
  const QRectF plot = plotRect();
  const auto isInSight = [&](const engine::KnobRecord& knob) {
    const double x = std::round(m_axis.xOf(knob.tNs));  // as it is drawn
    return x >= plot.left() && x <= plot.right();
  };
  const auto inSight = std::ranges::count_if(m_lanes.knobs(), isInSight);
  const double spare = plot.height() - kLeastRows * style::scaledPx(kMinRow);
  const int room = std::max(0, static_cast<int>(spare / flagHeight()));
  return std::min({kMostFlagRows, room, static_cast<int>(inSight)});
}

QRectF TimelineView::lanesRect() const { return plotRect().adjusted(0, 0, 0, -numFlagRows() * flagHeight()); }

void TimelineView::arrange() {
  m_rows.clear();
  const std::int64_t from = m_axis.timeAt(labelWidth()), to = m_axis.timeAt(width());
  for (const auto& lane : m_lanes.lanes()) {
    const bool isShown = lane->startNs() <= to && lane->lastNs(m_lanes.latestNs()) >= from;
    if (isShown || lane->id == m_selection.pinnedRequest()) m_rows.push_back(lane.get());
  }
  // rows that do not all fit are as high as a whole number of them needs: none is cut in the middle
  const double height = lanesRect().height();
  const double fit = std::max(1.0, std::floor(height / style::scaledPx(kMinRow)));
  const double shown = std::clamp<double>(static_cast<double>(m_rows.size()), 1.0, fit);
  m_rowHeight = std::min(height / shown, style::scaledPx(kMaxRow));
  const double most = std::max(0.0, m_rowHeight * static_cast<double>(m_rows.size()) - height);
  m_scroll = m_isFollowing ? most : std::clamp(m_scroll, 0.0, most);
}

double TimelineView::rowTop(std::size_t row) const {
  return kTopMargin + static_cast<double>(row) * m_rowHeight - m_scroll;
}

const models::Lane* TimelineView::laneAt(QPointF position) const {
  if (!lanesRect().adjusted(-labelWidth(), 0, 0, 0).contains(position)) return nullptr;
  const double row = std::floor((position.y() - kTopMargin + m_scroll) / m_rowHeight);
  return row >= 0 && row < static_cast<double>(m_rows.size()) ? m_rows[static_cast<std::size_t>(row)] : nullptr;
}

std::optional<QRectF> TimelineView::barOf(const models::Lane& lane, std::int64_t t0Ns, std::int64_t t1Ns) const {
  const auto row = std::ranges::find(m_rows, &lane);
  if (row == m_rows.end()) return std::nullopt;
  const QRectF plot = plotRect();
  const double left = std::max(plot.left(), m_axis.xOf(t0Ns)), right = std::min(plot.right() + 1, m_axis.xOf(t1Ns));
  return QRectF(left, rowTop(static_cast<std::size_t>(row - m_rows.begin())), std::max(0.0, right - left), m_rowHeight);
}

void TimelineView::zoomAt(double x, double factor) {
  m_hasOwnZoom = true;
  m_axis = m_axis.zoomedAt(x, factor);
  if (m_axis.xOf(m_lanes.latestNs()) > plotRect().right()) m_isFollowing = false;  // looks at the past now
  invalidate();
}

void TimelineView::panBy(double pixels) {
  m_isFollowing = false;
  m_hasOwnZoom = true;
  m_axis = m_axis.pannedBy(pixels);
  // Something stays in sight: the view cannot be lost in empty time.
  const QRectF plot = plotRect();
  const double first = m_axis.xOf(m_lanes.firstNs()), last = m_axis.xOf(m_lanes.latestNs());
  if (last < plot.left() + 20) m_axis = m_axis.pannedBy(plot.left() + 20 - last);
  else if (first > plot.right() - 20) m_axis = m_axis.pannedBy(plot.right() - 20 - first);
  invalidate();
}

void TimelineView::scrollRows(double pixels) {
  if (pixels == 0) return;
  m_isFollowing = false;
  m_hasOwnZoom = true;
  m_scroll += pixels;
  invalidate();
}

void TimelineView::reveal(const models::Lane& lane, std::int64_t t0Ns, std::int64_t t1Ns) {
  const QRectF plot = lanesRect();
  const double left = m_axis.xOf(t0Ns), right = m_axis.xOf(t1Ns);
  if (left < plot.left() || right > plot.right()) {
    panBy(plot.center().x() - left);
  }
  arrange();
  const auto row = static_cast<std::size_t>(std::ranges::find(m_rows, &lane) - m_rows.begin());
  if (row == m_rows.size()) return;
  const double top = rowTop(row);
  if (top < plot.top()) scrollRows(top - plot.top());
  else if (top + m_rowHeight > plot.bottom()) scrollRows(top + m_rowHeight - plot.bottom());
}

void TimelineView::pinSlice(const models::Lane& lane, int span) {
  m_selection.pinRequest(lane.id);
  if (span < 0) {
    setAccessibleDescription(labelOf(lane));
    return;
  }
  const models::LaneSpan& at = lane.spans[static_cast<std::size_t>(span)];
  m_selection.pinStep(engine::StepId(at.iteration));
  m_selection.setTimeCursorNs(at.t0Ns);
  setAccessibleDescription(describeSpan(lane, span));
  reveal(lane, at.t0Ns, at.t1Ns);
}

void TimelineView::stepSlice(int direction) {
  arrange();
  const models::Lane* lane = m_lanes.find(m_selection.pinnedRequest());
  if (!lane) lane = m_rows.empty() ? nullptr : m_rows.front();
  if (!lane || lane->spans.empty()) return;
  const int count = static_cast<int>(lane->spans.size());
  const engine::StepId step = m_selection.pinnedStep();
  const auto after = std::ranges::lower_bound(lane->spans, step.value, {}, &models::LaneSpan::iteration);
  int index = static_cast<int>(after - lane->spans.begin());
  if (step.isNone()) index = direction > 0 ? 0 : count - 1;
  else if (direction < 0) index -= 1;
  else if (after != lane->spans.end() && after->iteration == step.value) index += 1;
  pinSlice(*lane, std::clamp(index, 0, count - 1));
}

void TimelineView::stepRequest(int direction) {
  arrange();
  if (m_rows.empty()) return;
  const auto at = std::ranges::find(m_rows, m_selection.pinnedRequest(), [](const models::Lane* lane) { return lane->id; });
  const int count = static_cast<int>(m_rows.size());
  int row = static_cast<int>(at - m_rows.begin()) + direction;
  if (at == m_rows.end()) row = direction > 0 ? 0 : count - 1;
  const models::Lane& lane = *m_rows[static_cast<std::size_t>(std::clamp(row, 0, count - 1))];
  pinSlice(lane, lane.spanOf(m_selection.pinnedStep().value));
  const std::int64_t from = std::max(lane.startNs(), m_axis.timeAt(labelWidth()));
  reveal(lane, from, from);
}

QString TimelineView::labelOf(const models::Lane& lane) const {
  return lane.label.empty() ? tr("request %1").arg(lane.id.value) : QString::fromStdString(lane.label);
}

QString TimelineView::describeSpan(const models::Lane& lane, int span) const {
  const models::LaneSpan& at = lane.spans[static_cast<std::size_t>(span)];
  const QString what = at.kind == models::SpanKind::Stalled
                           ? kindName(at.kind)
                           : tr("%1 of %n token(s)", nullptr, static_cast<int>(at.tokens)).arg(kindName(at.kind));
  return tr("%1 · %2 · iteration %3 · %4")
      .arg(labelOf(lane), what, style::formatCount(static_cast<qint64>(at.iteration)), duration(at.t1Ns - at.t0Ns));
}

QString TimelineView::describeAt(QPointF position) const {
  const std::int64_t ns = m_axis.timeAt(position.x());
  for (const auto& loss : m_lanes.losses()) {
    if (std::abs(m_axis.xOf(loss.t1Ns) - position.x()) < 3) return tr("events were lost here");
  }
  const models::Lane* lane = laneAt(position);
  if (!lane) return {};
  QStringList lines;
  if (const int span = lane->spanAt(ns); span >= 0) lines << describeSpan(*lane, span);
  else lines << labelOf(*lane);
  for (const models::LaneGap& gap : lane->gaps) {
    if (ns >= gap.t0Ns && (gap.t1Ns < 0 || ns < gap.t1Ns)) lines << tr("preempted, waits to come back");
  }
  if (lane->arrivalNs >= 0) {
    const std::int64_t until = lane->admittedNs >= 0 ? lane->admittedNs : lane->lastNs(m_lanes.latestNs());
    lines << tr("queued for %1").arg(duration(until - lane->arrivalNs));
    if (lane->firstTokenNs >= 0) lines << tr("first token after %1").arg(duration(lane->firstTokenNs - lane->arrivalNs));
    if (lane->endNs >= 0) {
      lines << (lane->wasCutShort ? tr("cut short after %1") : tr("finished after %1")).arg(duration(lane->endNs - lane->arrivalNs));
    }
  }
  return lines.join(QLatin1Char('\n'));
}

QString TimelineView::describeRange() const {
  const auto range = m_selection.timeRange();
  if (!range) return {};
  int requests = 0;
  std::int64_t tokens = 0;
  for (const auto& lane : m_lanes.lanes()) {
    if (lane->startNs() >= range->t1Ns || lane->lastNs(m_lanes.latestNs()) < range->t0Ns) continue;
    ++requests;
    auto at = std::ranges::lower_bound(lane->spans, range->t0Ns, {}, &models::LaneSpan::t0Ns);
    for (; at != lane->spans.end() && at->t0Ns < range->t1Ns; ++at) tokens += at->tokens;
  }
  return tr("%1 selected · %2 · %3").arg(duration(range->t1Ns - range->t0Ns), tr("%n request(s)", nullptr, requests),
                                        tr("%n token(s)", nullptr, static_cast<int>(tokens)));
}

bool TimelineView::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const QString text = describeAt(help->pos());
    if (text.isEmpty()) QToolTip::hideText();
    else QToolTip::showText(help->globalPos(), text, this);
    return true;
  }
  return QWidget::event(event);
}

}  // namespace ui::views
