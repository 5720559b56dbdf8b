#include "ui/models/run_tables.h"

#include <QCoreApplication>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "ui/models/knob_text.h"

namespace ui::models {

namespace {

QString tr(const char* text) { return QCoreApplication::translate("ui::models::RunTables", text); }

double seconds(std::int64_t ns) { return static_cast<double>(ns) / 1e9; }
double toMs(std::int64_t ns) { return static_cast<double>(ns) / 1e6; }

QVariant count(std::uint64_t value) { return static_cast<qlonglong>(value); }

// Empty for what has not happened.
QVariant secondsOrNothing(std::int64_t ns) { return ns < 0 ? QVariant() : QVariant(seconds(ns)); }

std::int64_t nsOf(const Lane& lane, SpanKind kind) {
  if (lane.spans.empty()) return 0;
  const LaneSpan& last = lane.spans.back();
  return last.nsBefore[static_cast<std::size_t>(kind)] + (last.kind == kind ? last.t1Ns - last.t0Ns : 0);
}

}  // namespace

bridge::TimeRange rangeOf(const bridge::Selection& selection) {
  using Limits = std::numeric_limits<std::int64_t>;
  return selection.timeRange().value_or(bridge::TimeRange{Limits::min(), Limits::max()});
}

QStringList StepTable::columns() const {
  return {tr("iteration"), tr("begin, s"),  tr("ms"),       tr("prefill"), tr("decode"), tr("draft"),
          tr("budget"),    tr("stopped by"), tr("running"), tr("waiting"), tr("free blocks"), tr("cached blocks")};
}

int StepTable::prepare() {
  const auto range = rangeOf(m_selection);
  const auto& all = m_record.steps().columns();
  const auto begin = [](const StepColumn& column) { return column.iteration.t0Ns; };
  const auto first = std::ranges::lower_bound(all, range.t0Ns, {}, begin);
  const auto end = std::ranges::lower_bound(all, range.t1Ns, {}, begin);
  m_first = static_cast<std::size_t>(first - all.begin());
  m_numRows = static_cast<int>(end - first);
  return m_numRows;
}

const StepColumn* StepTable::at(int row) const {
  const std::size_t index = m_first + static_cast<std::size_t>(row);
  const auto& all = m_record.steps().columns();
  return row < m_numRows && index < all.size() ? &all[index] : nullptr;
}

engine::StepId StepTable::stepAt(int row) const {
  const StepColumn* column = at(row);
  return column ? engine::StepId(column->iteration.id) : engine::StepId();
}

QVariant StepTable::cell(int row, int column) const {
  const StepColumn* step = at(row);
  if (!step) return {};
  const engine::IterationRecord& it = step->iteration;
  switch (column) {
    case 0: return count(it.id);
    case 1: return seconds(it.t0Ns);
    case 2: return toMs(it.t1Ns - it.t0Ns);
    case 3: return count(it.prefillTokens);
    case 4: return count(it.decodeTokens);
    case 5: return count(it.draftTokens);
    case 6: return count(it.budget);
    case 7: return QString::fromStdString(engine::reasonText(it.limit, 0, 0));
    case 8: return count(it.running);
    case 9: return count(it.waiting);
    case 10: return count(it.freeBlocks);
    default: return count(it.cachedBlocks);
  }
}

QStringList LaneTable::columns() const {
  return {tr("request"),    tr("arrived, s"), tr("admitted, s"), tr("first token, s"), tr("ended, s"),
          tr("prefill, ms"), tr("decode, ms"), tr("verify, ms"),  tr("stalled, ms"),    tr("preempted"), tr("cut short")};
}

int LaneTable::prepare() {
  const auto range = rangeOf(m_selection);
  m_rows.clear();
  for (const auto& lane : m_record.lanes().lanes()) {
    if (lane->startNs() < range.t1Ns && lane->lastNs(m_record.lanes().latestNs()) >= range.t0Ns) m_rows.push_back(lane->id);
  }
  return static_cast<int>(m_rows.size());
}

QVariant LaneTable::cell(int row, int column) const {
  if (row >= static_cast<int>(m_rows.size())) return {};
  const Lane* lane = m_record.lanes().find(m_rows[static_cast<std::size_t>(row)]);
  if (!lane) return {};
  switch (column) {
    case 0: return lane->label.empty() ? tr("request %1").arg(lane->id.value) : QString::fromStdString(lane->label);
    case 1: return secondsOrNothing(lane->arrivalNs);
    case 2: return secondsOrNothing(lane->admittedNs);
    case 3: return secondsOrNothing(lane->firstTokenNs);
    case 4: return secondsOrNothing(lane->endNs);
    case 5: return toMs(nsOf(*lane, SpanKind::Prefill));
    case 6: return toMs(nsOf(*lane, SpanKind::Decode));
    case 7: return toMs(nsOf(*lane, SpanKind::Verify));
    case 8: return toMs(nsOf(*lane, SpanKind::Stalled));
    case 9: return count(lane->gaps.size());
    default: return lane->wasCutShort ? tr("yes") : QString();
  }
}

QStringList SampleTable::columns() const { return {tr("at, s"), tr("ms")}; }

int SampleTable::prepare() {
  const auto range = rangeOf(m_selection);
  m_rows.clear();
  std::ranges::copy_if(m_samples.samples(), std::back_inserter(m_rows),
                       [&](const LatencySamples::Sample& sample) { return range.contains(sample.tNs); });
  return static_cast<int>(m_rows.size());
}

QVariant SampleTable::cell(int row, int column) const {
  if (row >= static_cast<int>(m_rows.size())) return {};
  const auto& sample = m_rows[static_cast<std::size_t>(row)];
  return column == 0 ? seconds(sample.tNs) : sample.ms;
}

QStringList SeriesTable::columns() const {
  QStringList names{tr("at, s")};
  for (const Curve& curve : m_curves) names << curve.name;
  return names;
}

int SeriesTable::prepare() {
  const auto range = rangeOf(m_selection);
  std::map<std::int64_t, std::vector<QVariant>> rows;
  for (std::size_t i = 0; i < m_curves.size(); ++i) {
    for (const SeriesPoint& point : m_curves[i].series->points()) {
      if (!range.contains(point.tNs)) continue;
      auto& values = rows[point.tNs];
      values.resize(m_curves.size());
      values[i] = m_curves[i].isCount ? QVariant(static_cast<qlonglong>(std::llround(point.value))) : QVariant(point.value);
    }
  }
  m_rows.clear();
  for (auto& [tNs, values] : rows) m_rows.push_back({tNs, std::move(values)});
  return static_cast<int>(m_rows.size());
}

QVariant SeriesTable::cell(int row, int column) const {
  if (row >= static_cast<int>(m_rows.size())) return {};
  const Row& at = m_rows[static_cast<std::size_t>(row)];
  return column == 0 ? QVariant(seconds(at.tNs)) : at.values[static_cast<std::size_t>(column) - 1];
}

QStringList AcceptanceTable::columns() const {
  return {tr("position in the draft"), tr("drafted"), tr("accepted"), tr("share accepted")};
}

int AcceptanceTable::prepare() {
  const auto range = rangeOf(m_selection);
  m_figures = m_record.acceptance().figures(range.t0Ns, range.t1Ns);
  return static_cast<int>(m_figures.drafted.size());
}

QVariant AcceptanceTable::cell(int row, int column) const {
  const auto at = static_cast<std::size_t>(row);
  if (at >= m_figures.drafted.size()) return {};
  switch (column) {
    case 0: return static_cast<qlonglong>(row + 1);
    case 1: return static_cast<qlonglong>(m_figures.drafted[at]);
    case 2: return static_cast<qlonglong>(m_figures.accepted[at]);
    default: return m_figures.rateAt(at);
  }
}

QStringList KnobChangeTable::columns() const { return {tr("at, s"), tr("knob"), tr("from"), tr("to")}; }

QVariant KnobChangeTable::cell(int row, int column) const {
  if (row >= static_cast<int>(m_record.knobs().size())) return {};
  const engine::KnobRecord& knob = m_record.knobs()[static_cast<std::size_t>(row)];
  switch (column) {
    case 0: return seconds(knob.tNs);
    case 1: return QString::fromLatin1(knob.key);
    case 2: return knobValueText(knob.key, knob.oldValue);
    default: return knobValueText(knob.key, knob.newValue);
  }
}

}  // namespace ui::models
