#include "ui/models/request_table_model.h"

#include <algorithm>
#include <utility>

#include "ui/style/format.h"

namespace ui::models {

QString stateName(engine::RequestState state) {
  switch (state) {
    case engine::RequestState::Tokenising: return RequestTableModel::tr("tokenising");
    case engine::RequestState::Waiting: return RequestTableModel::tr("waiting");
    case engine::RequestState::Prefilling: return RequestTableModel::tr("prefill");
    case engine::RequestState::Decoding: return RequestTableModel::tr("decode");
    case engine::RequestState::Preempted: return RequestTableModel::tr("× preempted");
    case engine::RequestState::Finished: return RequestTableModel::tr("finished");
  }
  return {};
}

void RequestTableModel::setSnapshot(std::shared_ptr<const engine::EngineSnapshot> snapshot) {
  std::vector<engine::RequestId> rows;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; snapshot && i < snapshot->requests.size(); ++i) {
    if (!isInRange(snapshot->requests[i])) continue;
    rows.push_back(snapshot->requests[i].id);
    places.push_back(i);
  }
  if (rows == m_rows) {
    m_snapshot = std::move(snapshot);
    m_places = std::move(places);
    if (!m_rows.empty()) {
      emit dataChanged(index(0, 0), index(static_cast<int>(m_rows.size()) - 1, NumberOfColumns - 1));
    }
    return;
  }
  beginResetModel();
  m_snapshot = std::move(snapshot);
  m_rows = std::move(rows);
  m_places = std::move(places);
  endResetModel();
}

void RequestTableModel::setRange(std::optional<bridge::TimeRange> range) {
  if (range == m_range) return;
  m_range = range;
  setSnapshot(m_snapshot);
}

bool RequestTableModel::isInRange(const engine::RequestSnapshot& request) const {
  const engine::RequestTimes& times = request.times;
  return !m_range || (times.arrivalNs < m_range->t1Ns && (times.finishedNs < 0 || times.finishedNs >= m_range->t0Ns));
}

int RequestTableModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

int RequestTableModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : NumberOfColumns;
}

QString RequestTableModel::text(const engine::RequestSnapshot& request, int column) const {
  switch (column) {
    case Label: return QString::fromStdString(request.label);
    case State: return stateName(request.state);
    case Tokens:
      return tr("%1 + %2").arg(style::formatCount(request.promptTokens), style::formatCount(request.outputTokens));
    case Cached: return request.cachedTokens > 0 ? style::formatCount(request.cachedTokens) : QStringLiteral("–");
    case Blocks: return style::formatCount(static_cast<qint64>(request.blocks.size()));
    case Speed:
      return request.tokensPerSecond > 0 ? style::formatTokensPerSecond(request.tokensPerSecond) : QStringLiteral("–");
    case Ttft:
      return request.times.firstTokenNs < 0
                 ? QStringLiteral("–")
                 : style::formatMs(static_cast<double>(request.times.firstTokenNs - request.times.arrivalNs) / 1e6);
    case Why: {
      QString why = QString::fromStdString(engine::reasonText(request.reason, request.reasonA, request.reasonB));
      if (request.preemptions > 0) why += tr(" · preempted %n time(s)", nullptr, request.preemptions);
      return why;
    }
    default: return {};
  }
}

QVariant RequestTableModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || !m_snapshot || index.row() >= static_cast<int>(m_rows.size())) return {};
  const engine::RequestSnapshot& request = m_snapshot->requests[m_places[static_cast<std::size_t>(index.row())]];
  if (role == Qt::DisplayRole || role == Qt::AccessibleTextRole) return text(request, index.column());
  if (role == Qt::ToolTipRole && index.column() == Why) return text(request, Why);
  if (role == Qt::TextAlignmentRole) {
    const bool isNumber = index.column() >= Tokens && index.column() <= Ttft;
    return QVariant(isNumber ? Qt::AlignRight | Qt::AlignVCenter : Qt::AlignLeft | Qt::AlignVCenter);
  }
  return {};
}

QVariant RequestTableModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (role == Qt::TextAlignmentRole) {
    const bool isNumber = section >= Tokens && section <= Ttft;
    return QVariant(isNumber ? Qt::AlignRight | Qt::AlignVCenter : Qt::AlignLeft | Qt::AlignVCenter);
  }
  if (role != Qt::DisplayRole) return {};
  static_assert(NumberOfColumns == 8);
  switch (section) {
    case Label: return tr("request");
    case State: return tr("state");
    case Tokens: return tr("in + out");
    case Cached: return tr("cached");
    case Blocks: return tr("blocks");
    case Speed: return tr("speed");
    case Ttft: return tr("TTFT");
    case Why: return tr("why");
    default: return {};
  }
}

engine::RequestId RequestTableModel::requestAt(int row) const {
  return row >= 0 && row < static_cast<int>(m_rows.size()) ? m_rows[static_cast<std::size_t>(row)]
                                                           : engine::RequestId();
}

int RequestTableModel::rowOf(engine::RequestId id) const {
  const auto at = std::ranges::find(m_rows, id);
  return at == m_rows.end() ? -1 : static_cast<int>(at - m_rows.begin());
}

}  // namespace ui::models
