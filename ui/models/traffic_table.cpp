#include "ui/models/traffic_table.h"

#include <QCoreApplication>

namespace ui::models {

namespace {

QString tr(const char* text) { return QCoreApplication::translate("ui::models::TrafficTable", text); }

QString stateText(TrafficRequest::State state) {
  switch (state) {
    case TrafficRequest::State::Running: return tr("under way");
    case TrafficRequest::State::Done: return tr("done");
    case TrafficRequest::State::Refused: return tr("refused");
    case TrafficRequest::State::Failed: return tr("failed");
    case TrafficRequest::State::Stopped: return tr("stopped");
  }
  return {};
}

QVariant msOrNothing(double ms) { return ms < 0 ? QVariant() : QVariant(ms); }

}  // namespace

QStringList TrafficTable::columns() const {
  return {tr("user"), tr("state"), tr("prompt"), tr("output"), tr("TTFT, ms"), tr("TPOT, ms"), tr("meets SLO"), tr("why")};
}

// A new run is shorter than the one before.
const TrafficRequest* TrafficTable::at(int row) const {
  const auto index = static_cast<std::size_t>(row);
  return index < m_run.requests().size() ? &m_run.requests()[index] : nullptr;
}

engine::RequestId TrafficTable::requestAt(int row) const {
  const TrafficRequest* request = at(row);
  return request ? request->id : engine::RequestId();
}

QVariant TrafficTable::cell(int row, int column) const {
  const TrafficRequest* request = at(row);
  if (!request) return {};
  switch (column) {
    case 0: return request->label;
    case 1: return stateText(request->state);
    case 2: return static_cast<qlonglong>(request->promptTokens);
    case 3: return static_cast<qlonglong>(request->outputTokens);
    case 4: return msOrNothing(request->ttftMs);
    case 5: return msOrNothing(request->tpotMs);
    case 6: return request->state != TrafficRequest::State::Done ? QString() : request->meetsSlo ? tr("yes") : tr("no");
    default: return request->why;
  }
}

}  // namespace ui::models
