#include "ui/panels/knobs_panel.h"

#include <QComboBox>
#include <QEvent>
#include <QGridLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QVBoxLayout>
#include <algorithm>

#include "ui/bridge/engine_bridge.h"
#include "ui/models/knob_text.h"
#include "ui/models/run_tables.h"
#include "ui/panels/scroll_column.h"
#include "ui/style/fonts.h"
#include "ui/style/format.h"

namespace ui::panels {

namespace {

constexpr int kEditorWidth = 104;

QLabel* mutedLabel(bool wraps = true) {
  auto* label = new QLabel;
  label->setProperty("role", "muted");
  label->setFont(style::textFont(12));
  label->setWordWrap(wraps);
  return label;
}

const engine::MemoryItem* itemOf(const engine::MemoryEstimate& estimate, const std::string& name) {
  const auto at = std::ranges::find(estimate.items, name, &engine::MemoryItem::name);
  return at == estimate.items.end() ? nullptr : &*at;
}

}  // namespace

KnobsPanel::KnobsPanel(const ViewParts& parts, QWidget* parent)
    : ViewCard(tr("Knobs"), parts.selection, parent), m_bridge(parts.bridge), m_record(parts.record) {
  m_rowsColumn = new ScrollColumn(buildRows(), tr("List of knobs"));
  m_reload = buildReload();
  m_rowsColumn->column().addWidget(m_reload);
  m_last = mutedLabel();
  m_rowsColumn->column().addWidget(m_last);
  setView(m_rowsColumn);
  setTable(std::make_unique<models::KnobChangeTable>(parts.record));
  setFigure(tr("● live · ○ needs reload"));
  connect(&m_record, &models::RunRecord::changed, this, &KnobsPanel::moveOn);
  connect(&m_bridge, &bridge::EngineBridge::frameReady, this, &KnobsPanel::onFrame);
  connect(&m_bridge, &bridge::EngineBridge::engineChanged, this, [this] {
    m_numChangesShown = 0;
    m_last->clear();
    discard();
  });
  showValues();
}

QWidget* KnobsPanel::buildRows() {
  auto* list = new QWidget;
  auto* grid = new QGridLayout(list);
  grid->setContentsMargins(0, 0, 6, 0);
  grid->setVerticalSpacing(4);
  grid->setColumnStretch(0, 1);
  int place = 0;
  for (const models::Knob& knob : models::allKnobs()) addRow(*grid, place++, knob);
  grid->setRowStretch(place * 2, 1);
  return list;
}

void KnobsPanel::addRow(QGridLayout& grid, int place, const models::Knob& knob) {
  auto* name = new QLabel((knob.isLive ? QStringLiteral("● ") : QStringLiteral("○ ")) + knob.name);
  auto* actsOn = mutedLabel();
  actsOn->setFont(style::textFont(11));
  actsOn->setText(knob.actsOn);
  const QString when = knob.isLive ? tr("Live: acts from the next step; memory stays as it was taken at load.")
                                   : tr("Needs a reload; its effect on memory is shown before.");
  QWidget* editor = makeEditor(knob);
  editor->setFixedWidth(qRound(kEditorWidth * style::textScale()));
  editor->setAccessibleName(knob.name);
  editor->setAccessibleDescription(knob.actsOn + QStringLiteral(". ") + when);
  editor->setToolTip(when);
  name->setToolTip(when);
  name->setBuddy(editor);
  grid.addWidget(name, place * 2, 0, Qt::AlignBottom);
  grid.addWidget(editor, place * 2, 1, 2, 1, Qt::AlignRight | Qt::AlignVCenter);
  grid.addWidget(actsOn, place * 2 + 1, 0, Qt::AlignTop);
  m_rows.push_back({&knob, editor});
}

QWidget* KnobsPanel::makeEditor(const models::Knob& knob) {
  const QString name = knob.name;
  if (!knob.choices.isEmpty()) {
    auto* box = new QComboBox;
    box->addItems(knob.choices);
    box->setProperty("role", "knob");
    box->setFocusPolicy(Qt::StrongFocus);  // the wheel scrolls the list, it turns no knob by chance
    connect(box, &QComboBox::textActivated, this, [this, name](const QString& value) { turn(name, value); });
    return box;
  }
  auto* edit = new QLineEdit;
  edit->setProperty("role", "knob");
  edit->setAlignment(knob.kind == models::KnobKind::Path ? Qt::AlignLeft : Qt::AlignRight);
  connect(edit, &QLineEdit::editingFinished, this, [this, name, edit] {
    if (edit->isModified()) turn(name, edit->text());
    edit->setModified(false);
    showValues();  // what was refused is named by the error, the field tells what is in force
  });
  return edit;
}

QWidget* KnobsPanel::buildReload() {
  auto* box = new QWidget;
  auto* column = new QVBoxLayout(box);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(4);
  m_reloadText = new QLabel;
  m_reloadText->setWordWrap(true);
  m_memory = mutedLabel();
  auto* buttons = new QHBoxLayout;
  m_apply = new QPushButton(tr("Reload with these"));
  m_apply->setProperty("role", "primary");
  m_apply->setToolTip(tr("Loads the model again. Answers that are being written end where they are."));
  m_discard = new QPushButton(tr("Discard"));
  buttons->addWidget(m_apply);
  buttons->addWidget(m_discard);
  buttons->addStretch(1);
  column->addWidget(m_reloadText);
  column->addWidget(m_memory);
  column->addLayout(buttons);
  box->hide();
  connect(m_apply, &QPushButton::clicked, this, [this] { emit reloadWanted(m_wanted); });
  connect(m_discard, &QPushButton::clicked, this, &KnobsPanel::discard);
  return box;
}

QWidget* KnobsPanel::editorOf(const QString& knob) const {
  const auto at = std::ranges::find(m_rows, knob, [](const Row& row) { return row.knob->name; });
  return at == m_rows.end() ? nullptr : at->editor;
}

void KnobsPanel::showValue(const Row& row) {
  const QString text = row.knob->text(m_wanted);
  if (auto* box = qobject_cast<QComboBox*>(row.editor)) {
    box->setCurrentText(text);
  } else if (auto* edit = qobject_cast<QLineEdit*>(row.editor); !edit->isModified()) {
    if (edit->text() != text) edit->setText(text);
  }
}

void KnobsPanel::showValues() {
  const bool canTurn = m_bridge.capabilities().hasLiveKnobs, canLoad = m_bridge.capabilities().canLoad;
  for (const Row& row : m_rows) {
    showValue(row);
    row.editor->setEnabled(row.knob->isLive ? canTurn : canLoad);
  }
}

void KnobsPanel::showError(const QString& sentence) { m_rowsColumn->setError(sentence); }

QString KnobsPanel::error() const { return m_rowsColumn->error(); }

QString KnobsPanel::effectOnMemory() const { return m_memory->text(); }

QString KnobsPanel::turn(const QString& name, const QString& value) {
  const auto row = std::ranges::find(m_rows, name, [](const Row& entry) { return entry.knob->name; });
  if (row == m_rows.end()) return tr("there is no knob %1").arg(name);
  const models::Knob& knob = *row->knob;
  const QString refused = models::turnKnob(knob, value, m_wanted);
  showError(refused);
  if (!refused.isEmpty()) return refused;
  if (auto* edit = qobject_cast<QLineEdit*>(row->editor)) edit->setModified(false);
  showValue(*row);
  if (knob.isLive) {
    if (!(m_wanted.limits == m_shown.limits)) {
      m_awaitsAnswer = true;
      m_bridge.send(engine::SetLimits{m_wanted.limits});
    }
    return {};
  }
  m_reload->setVisible(needsReload());
  m_reloadText->setText(reloadText());
  askMemory();
  return {};
}

QString KnobsPanel::reloadText() const {
  QStringList changes;
  for (const Row& row : m_rows) {
    const QString before = row.knob->text(m_shown), after = row.knob->text(m_wanted);
    if (!row.knob->isLive && before != after) changes << QStringLiteral("%1 %2 → %3").arg(row.knob->name, before, after);
  }
  return changes.join(QStringLiteral(" · "));
}

void KnobsPanel::discard() {
  m_wanted.load = m_shown.load;
  m_reload->hide();
  showError({});
  showValues();
}

void KnobsPanel::askMemory() {
  m_memoryWanted.reset();
  m_apply->setEnabled(false);
  if (!needsReload()) return;
  if (m_shown.load.modelPath.empty()) {
    m_memory->setText(tr("No model is loaded; these hold for the next one that is opened here."));
    return;
  }
  m_memory->setText(tr("estimating…"));
  const std::uint64_t asked = ++m_memoryAsked;
  const auto ask = [this, asked](const engine::LoadConfig& load, std::optional<engine::MemoryEstimate>& into) {
    m_bridge.ask(engine::EstimateQuery{load}, this, [this, asked, &into](const engine::QueryAnswer& answer) {
      if (asked != m_memoryAsked) return;  // a newer question is under way
      if (const auto* error = std::get_if<engine::Error>(&answer.answer)) {
        m_memory->clear();
        return showError(QString::fromStdString(error->message));
      }
      if (const auto* estimate = std::get_if<engine::MemoryEstimate>(&answer.answer)) into = *estimate;
      showMemory();
    });
  };
  m_memoryNow.reset();
  ask(m_shown.load, m_memoryNow);
  ask(m_wanted.load, m_memoryWanted);
}

void KnobsPanel::showMemory() {
  if (!m_memoryNow || !m_memoryWanted) return;
  QStringList lines;
  for (const engine::MemoryItem& item : m_memoryWanted->items) {
    const engine::MemoryItem* before = itemOf(*m_memoryNow, item.name);
    const QString name = QString::fromStdString(item.name);
    lines << (before && before->bytes != item.bytes
                  ? tr("%1 %2 → %3").arg(name, style::formatBytes(before->bytes), style::formatBytes(item.bytes))
                  : tr("%1 %2").arg(name, style::formatBytes(item.bytes)));
  }
  lines << tr("in all %1 → %2, %3 free now").arg(style::formatBytes(m_memoryNow->totalBytes),
                                              style::formatBytes(m_memoryWanted->totalBytes),
                                              style::formatBytes(m_memoryWanted->freeBytes));
  lines << tr("the cache holds %1 → %2 tokens").arg(style::formatCount(m_memoryNow->kvCapacityTokens),
                                                  style::formatCount(m_memoryWanted->kvCapacityTokens));
  m_memory->setText(lines.join(QLatin1Char('\n')));
  m_apply->setEnabled(true);
}

void KnobsPanel::onFrame(const bridge::Frame& frame) {
  for (const auto& message : frame.messages) {
    const auto* notice = std::get_if<engine::Notice>(&message);
    if (!notice || !m_awaitsAnswer || notice->severity == engine::Severity::Info) continue;
    m_awaitsAnswer = false;
    m_wanted.limits = m_shown.limits;
    showError(QString::fromStdString(notice->text));
    showValues();
  }
  if (!frame.liveSnapshot || frame.liveSnapshot->config == m_shown) return;
  const bool isOtherLoad = !(frame.liveSnapshot->config.load == m_shown.load);
  m_shown = frame.liveSnapshot->config;
  if (m_wanted.limits == m_shown.limits) m_awaitsAnswer = false;
  if (!m_awaitsAnswer) m_wanted.limits = m_shown.limits;
  if (isOtherLoad) discard();
  showValues();
}

void KnobsPanel::changeEvent(QEvent* event) {
  ViewCard::changeEvent(event);
  if (event->type() != QEvent::FontChange) return;
  for (const Row& row : m_rows) row.editor->setFixedWidth(qRound(kEditorWidth * style::textScale()));
}

void KnobsPanel::refreshView() {
  if (!m_bridge.capabilities().hasLiveKnobs) {
    m_last->setText(tr("A recorded run has no knobs to turn."));
    m_last->show();
    return;
  }
  const auto& changes = m_record.knobs();
  if (changes.size() == m_numChangesShown && !m_last->text().isEmpty()) return;
  m_numChangesShown = changes.size();
  m_last->setText(changes.empty() ? QString() : tr("last change: %1").arg(models::describeKnobChange(changes.back())));
  m_last->setVisible(!changes.empty());
}

}  // namespace ui::panels
