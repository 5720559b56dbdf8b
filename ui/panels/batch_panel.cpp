#include "ui/panels/batch_panel.h"

#include "ui/models/run_tables.h"
#include "ui/views/batch_strip_view.h"

namespace ui::panels {

BatchPanel::BatchPanel(const ViewParts& parts, QWidget* parent)
    : ViewCard(tr("Batch, one column per iteration"), parts.selection, parent),
      m_record(parts.record),
      m_strip(new views::BatchStripView(parts.selection, parts.record)) {
  setView(m_strip);
  setTable(std::make_unique<models::StepTable>(parts.selection, parts.record));
  connect(&m_record, &models::RunRecord::changed, this, &BatchPanel::moveOn);
}

void BatchPanel::refreshView() {
  m_strip->refresh();
  const auto& columns = m_record.steps().columns();
  if (columns.empty()) return setFigure(QString());
  setFigure(tr("budget %1 tokens · stopped by: ▪ budget  ◆ no blocks  ● sequences  ○ queue empty")
                .arg(columns.back().iteration.budget));
}

}  // namespace ui::panels
