#include "ui/panels/batch_panel.h"


#include "ui/models/run_tables.h"
#include "ui/views/batch_strip_view.h"
#include "ui/views/key_view.h"

namespace ui::panels {

namespace {

std::vector<views::KeyEntry> keyOfBatch() {
  using style::Role;
  using views::KeyMark;
  return {{KeyMark::Square, Role::Prefill, BatchPanel::tr("prefill")},
          {KeyMark::Square, Role::Draft, BatchPanel::tr("draft")},
          {KeyMark::Square, Role::Decode, BatchPanel::tr("decode")},
          {KeyMark::Words, Role::MutedText, BatchPanel::tr("stopped by")},
          {KeyMark::Dot, Role::BudgetLine, BatchPanel::tr("budget")},
          {KeyMark::Diamond, Role::Preempted, BatchPanel::tr("no blocks")},
          {KeyMark::Disc, Role::Waiting, BatchPanel::tr("sequences")},
          {KeyMark::Ring, Role::FaintText, BatchPanel::tr("queue empty")}};
}

}  // namespace

BatchPanel::BatchPanel(const ViewParts& parts, QWidget* parent)
    : ViewCard(tr("Batch · one column per iteration"), parts.selection, parent),
      m_record(parts.record),
      m_strip(new views::BatchStripView(parts.selection, parts.record)),
      m_key(new views::KeyView(keyOfBatch())) {
  setView(m_strip, m_key);
  setTable(std::make_unique<models::StepTable>(parts.selection, parts.record));
  connect(&m_record, &models::RunRecord::changed, this, &BatchPanel::moveOn);
}

void BatchPanel::refreshView() {
  m_strip->refresh();
  const auto& columns = m_record.steps().columns();
  m_key->setVisible(!columns.empty());
  if (columns.empty()) return setFigure(QString());
  const auto& newest = columns.back().iteration;
  setFigure(tr("budget %1 tokens · used %2").arg(newest.budget).arg(newest.prefillTokens + newest.decodeTokens + newest.draftTokens));
}

}  // namespace ui::panels
