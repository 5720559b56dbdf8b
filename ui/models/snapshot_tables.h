// The engine's newest state as tables: blocks, and the decisions of the last step.
#pragma once

#include <memory>
#include <vector>

#include "ui/bridge/engine_bridge.h"
#include "ui/models/batch_explanation.h"
#include "ui/models/table_source.h"

namespace ui::models {

class BlockTable : public TableSource {
 public:
  explicit BlockTable(const bridge::EngineBridge& bridge) : m_bridge(bridge) {}
  QStringList columns() const override;
  int prepare() override;
  QVariant cell(int row, int column) const override;
  engine::RequestId requestAt(int row) const override;
  engine::BlockId blockAt(int row) const override { return engine::BlockId(row); }

 private:
  const bridge::EngineBridge& m_bridge;
  std::shared_ptr<const engine::EngineSnapshot> m_snapshot;
};

class DecisionTable : public TableSource {
 public:
  explicit DecisionTable(const bridge::EngineBridge& bridge) : m_bridge(bridge) {}
  QStringList columns() const override;
  int prepare() override;
  QVariant cell(int row, int column) const override;
  engine::RequestId requestAt(int row) const override;

 private:
  const bridge::EngineBridge& m_bridge;
  std::shared_ptr<const engine::EngineSnapshot> m_snapshot;
};

}  // namespace ui::models
