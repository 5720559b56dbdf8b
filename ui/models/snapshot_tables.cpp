#include "ui/models/snapshot_tables.h"

#include <QCoreApplication>

namespace ui::models {

namespace {

QString tr(const char* text) { return QCoreApplication::translate("ui::models::SnapshotTables", text); }

QString labelOf(const engine::EngineSnapshot& snapshot, engine::RequestId id) {
  for (const engine::RequestSnapshot& request : snapshot.requests) {
    if (request.id == id) return QString::fromStdString(request.label);
  }
  return id.isNone() ? QString() : tr("request %1").arg(id.value);
}

QString stateText(engine::BlockState state) {
  switch (state) {
    case engine::BlockState::Free: return tr("free");
    case engine::BlockState::Used: return tr("used");
    case engine::BlockState::Cached: return tr("cached");
  }
  return {};
}

}  // namespace

QStringList BlockTable::columns() const {
  return {tr("block"),      tr("state"),      tr("request"), tr("place in its table"), tr("slots filled"),
          tr("references"), tr("prefix hash"), tr("allocated at"), tr("last used at")};
}

int BlockTable::prepare() {
  m_snapshot = m_bridge.snapshot();
  return m_snapshot ? static_cast<int>(m_snapshot->blocks.size()) : 0;
}

engine::RequestId BlockTable::requestAt(int row) const {
  const engine::BlockSnapshot& block = m_snapshot->blocks[static_cast<std::size_t>(row)];
  return block.refCount > 0 ? block.owner : engine::RequestId();
}

QVariant BlockTable::cell(int row, int column) const {
  if (!m_snapshot || row >= static_cast<int>(m_snapshot->blocks.size())) return {};
  const engine::BlockSnapshot& block = m_snapshot->blocks[static_cast<std::size_t>(row)];
  const bool isFree = block.state == engine::BlockState::Free;
  switch (column) {
    case 0: return static_cast<qlonglong>(row);
    case 1: return stateText(block.state);
    default: break;
  }
  if (isFree) return {};
  switch (column) {
    case 2: return labelOf(*m_snapshot, block.owner);
    case 3: return static_cast<qlonglong>(block.logical);
    case 4: return static_cast<qlonglong>(block.filled);
    case 5: return static_cast<qlonglong>(block.refCount);
    case 6: return block.hash == 0 ? QString() : QStringLiteral("%1").arg(block.hash, 16, 16, QLatin1Char('0'));
    case 7: return static_cast<qlonglong>(block.allocatedStep);
    default: return static_cast<qlonglong>(block.lastUsedStep);
  }
}

QStringList DecisionTable::columns() const { return {tr("request"), tr("tokens"), tr("decision"), tr("why")}; }

int DecisionTable::prepare() {
  m_snapshot = m_bridge.snapshot();
  return m_snapshot ? static_cast<int>(m_snapshot->lastStep.decisions.size()) : 0;
}

engine::RequestId DecisionTable::requestAt(int row) const {
  return m_snapshot->lastStep.decisions[static_cast<std::size_t>(row)].request;
}

QVariant DecisionTable::cell(int row, int column) const {
  if (!m_snapshot || row >= static_cast<int>(m_snapshot->lastStep.decisions.size())) return {};
  const engine::Decision& decision = m_snapshot->lastStep.decisions[static_cast<std::size_t>(row)];
  switch (column) {
    case 0: return labelOf(*m_snapshot, decision.request);
    case 1: return static_cast<qlonglong>(decision.tokens);
    case 2: return QString::fromLatin1(engine::reasonName(decision.reason));
    default: return QString::fromStdString(engine::reasonText(decision.reason, decision.a, decision.b));
  }
}

}  // namespace ui::models
