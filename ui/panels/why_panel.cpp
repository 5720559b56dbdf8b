#include "ui/panels/why_panel.h"

#include <QVBoxLayout>

#include "ui/panels/explanation_list.h"
#include "ui/style/format.h"

namespace ui::panels {

WhyPanel::WhyPanel(bridge::Selection& selection, QWidget* parent)
    : Card(tr("Why this batch?"), parent), m_list(new ExplanationList(selection)) {
  body()->addWidget(m_list, 1);
}

void WhyPanel::setSnapshot(const std::shared_ptr<const engine::EngineSnapshot>& snapshot) {
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
