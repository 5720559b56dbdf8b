#include "ui/panels/speculation_panel.h"

#include "ui/bridge/engine_bridge.h"
#include "ui/models/run_tables.h"
#include "ui/style/format.h"
#include "ui/views/acceptance_view.h"

namespace ui::panels {

namespace {

// How many tokens the same time would have given without speculation, measured on this run.
struct Payoff {
  QString headline, explanation;
};

Payoff payoffOf(const engine::SpeculationSummary& speculation) {
  if (!speculation.plainMsPerToken || !speculation.speculativeMsPerToken || *speculation.speculativeMsPerToken <= 0) {
    return {{}, SpeculationPanel::tr("speed against off is not measured yet")};
  }
  const double factor = *speculation.plainMsPerToken / *speculation.speculativeMsPerToken;
  const QString times = QStringLiteral("%1×").arg(factor, 0, 'f', 2);
  return {times, (factor >= 1 ? SpeculationPanel::tr("as fast as off: %1 a token, %2 without drafts, both measured here")
                              : SpeculationPanel::tr("slower than off: %1 a token, %2 without drafts, both measured here"))
                     .arg(style::formatMs(*speculation.speculativeMsPerToken), style::formatMs(*speculation.plainMsPerToken))};
}

}  // namespace

SpeculationPanel::SpeculationPanel(const ViewParts& parts, QWidget* parent)
    : ViewCard(tr("Speculation"), parts.selection, parent),
      m_bridge(parts.bridge),
      m_record(parts.record),
      m_view(new views::AcceptanceView) {
  setView(m_view);
  setTable(std::make_unique<models::AcceptanceTable>(parts.selection, parts.record));
  connect(&m_record, &models::RunRecord::changed, this, &SpeculationPanel::moveOn);
  connect(&parts.selection, &bridge::Selection::changed, this, [this] {
    if (!selection().timeCursorNs()) moveOn();  // another range may be selected
  });
}

void SpeculationPanel::refreshView() {
  const auto& snapshot = m_bridge.snapshot();
  const auto range = models::rangeOf(selection());
  const auto figures = m_record.acceptance().figures(range.t0Ns, range.t1Ns);
  const bool isOff = !snapshot || snapshot->config.limits.speculation == engine::SpeculationKind::Off;
  if (figures.passes == 0) {
    m_view->setFigures(figures, {}, {});
    m_view->setEmptyText(isOff ? tr("Speculation is off. Set speculate to ngram in Knobs, then ask for text that repeats "
                                    "words of the question.")
                               : tr("No guess was checked yet: drafts come when an answer repeats what was said before."));
    return setFigure(QString());
  }
  const Payoff payoff = snapshot ? payoffOf(snapshot->speculation) : Payoff{};
  m_view->setEmptyText({});
  m_view->setFigures(figures, payoff.headline, payoff.explanation);
  setFigure(tr("%1 tokens a pass · accepted by draft position · n = %2")
                .arg(figures.tokensPerPass(), 0, 'f', 2).arg(style::formatCount(figures.passes)) +
            (selection().timeRange() ? tr(" · in the selected time") : QString()));
}

}  // namespace ui::panels
