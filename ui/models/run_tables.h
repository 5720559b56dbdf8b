// The run record as tables: iterations, lives of requests, waiting times, curves, acceptance, knobs. All
// but the last are narrowed to the time range that is selected.
#pragma once

#include <vector>

#include "ui/bridge/selection.h"
#include "ui/models/run_record.h"
#include "ui/models/table_source.h"

namespace ui::models {

// Everything when no range is selected.
bridge::TimeRange rangeOf(const bridge::Selection& selection);

class StepTable : public TableSource {
 public:
  StepTable(const bridge::Selection& selection, const RunRecord& record) : m_selection(selection), m_record(record) {}
  QStringList columns() const override;
  int prepare() override;
  QVariant cell(int row, int column) const override;
  engine::StepId stepAt(int row) const override;

 private:
  const StepColumn* at(int row) const;

  const bridge::Selection& m_selection;
  const RunRecord& m_record;
  std::size_t m_first = 0;
  int m_numRows = 0;
};

class LaneTable : public TableSource {
 public:
  LaneTable(const bridge::Selection& selection, const RunRecord& record) : m_selection(selection), m_record(record) {}
  QStringList columns() const override;
  int prepare() override;
  QVariant cell(int row, int column) const override;
  engine::RequestId requestAt(int row) const override { return m_rows[static_cast<std::size_t>(row)]; }

 private:
  const bridge::Selection& m_selection;
  const RunRecord& m_record;
  std::vector<engine::RequestId> m_rows;
};

class SampleTable : public TableSource {
 public:
  // `samples` must outlive the table.
  SampleTable(const bridge::Selection& selection, const LatencySamples& samples)
      : m_selection(selection), m_samples(samples) {}
  QStringList columns() const override;
  int prepare() override;
  QVariant cell(int row, int column) const override;

 private:
  const bridge::Selection& m_selection;
  const LatencySamples& m_samples;
  std::vector<LatencySamples::Sample> m_rows;
};

// Several curves over one clock: a row for each time at which any of them has a point.
class SeriesTable : public TableSource {
 public:
  struct Curve {
    QString name;
    const Series* series;  // must outlive the table
    bool isCount = false;  // whole numbers
  };
  SeriesTable(const bridge::Selection& selection, std::vector<Curve> curves)
      : m_selection(selection), m_curves(std::move(curves)) {}
  QStringList columns() const override;
  int prepare() override;
  QVariant cell(int row, int column) const override;

 private:
  struct Row {
    std::int64_t tNs;
    std::vector<QVariant> values;
  };

  const bridge::Selection& m_selection;
  std::vector<Curve> m_curves;
  std::vector<Row> m_rows;
};

class AcceptanceTable : public TableSource {
 public:
  AcceptanceTable(const bridge::Selection& selection, const RunRecord& record) : m_selection(selection), m_record(record) {}
  QStringList columns() const override;
  int prepare() override;
  QVariant cell(int row, int column) const override;

 private:
  const bridge::Selection& m_selection;
  const RunRecord& m_record;
  AcceptanceFigures m_figures;
};

class KnobChangeTable : public TableSource {
 public:
  explicit KnobChangeTable(const RunRecord& record) : m_record(record) {}
  QStringList columns() const override;
  int prepare() override { return static_cast<int>(m_record.knobs().size()); }
  QVariant cell(int row, int column) const override;

 private:
  const RunRecord& m_record;
};

}  // namespace ui::models
