// The requests of a traffic run as rows.
#pragma once

#include "ui/models/table_source.h"
#include "ui/models/traffic_run.h"

namespace ui::models {

class TrafficTable : public TableSource {
 public:
  explicit TrafficTable(const TrafficRun& run) : m_run(run) {}
  QStringList columns() const override;
  int prepare() override { return static_cast<int>(m_run.requests().size()); }
  QVariant cell(int row, int column) const override;
  engine::RequestId requestAt(int row) const override;

 private:
  const TrafficRequest* at(int row) const;

  const TrafficRun& m_run;
};

}  // namespace ui::models
