#include "ui/panels/why_panel.h"

#include <QVBoxLayout>

#include "ui/bridge/engine_bridge.h"
#include "ui/models/run_record.h"
#include "ui/models/snapshot_tables.h"
#include "ui/panels/explanation_list.h"
#include "ui/style/format.h"

namespace ui::panels {

WhyPanel::WhyPanel(const ViewParts& parts, QWidget* parent)
    : ViewCard(tr("Why this batch?"), parts.selection, parent),
      m_bridge(parts.bridge),
      m_list(new ExplanationList(parts.selection)) {
  setView(m_list);
  setTable(std::make_unique<models::DecisionTable>(m_bridge));
  connect(&parts.record, &models::RunRecord::changed, this, &WhyPanel::moveOn);
}

void WhyPanel::refreshView() {
  const auto& snapshot = m_bridge.snapshot();
  if (!snapshot || snapshot->lastStep.id.isNone()) {
    setTitle(tr("Why this batch?"));
    setFigure(QString());
    m_list->setLines({});
    return;
  }
  const engine::StepSummary& step = snapshot->lastStep;
  setTitle(tr("Why this batch? · iteration %1").arg(style::formatCount(static_cast<qint64>(step.id.value))));
  setFigure(tr("budget %1 · used %2 · stopped by: %3")
                .arg(step.budget)
                .arg(step.prefillTokens + step.decodeTokens + step.draftTokens)
                .arg(QString::fromStdString(engine::reasonText(step.limit, 0, 0))));
  m_list->setLines(models::explainStep(*snapshot, m_list->capacity()));
}

}  // namespace ui::panels
