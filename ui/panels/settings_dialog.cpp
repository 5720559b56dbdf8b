#include "ui/panels/settings_dialog.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDesktopServices>
#include <QDoubleSpinBox>
#include <QFileInfo>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QTabWidget>
#include <QUrl>
#include <QVBoxLayout>
#include <algorithm>
#include <limits>

#include "ui/panels/load_choices.h"
#include "ui/style/fonts.h"

namespace ui::panels {

using models::Preferences;

namespace {

constexpr qint64 kMega = 1'000'000;

QSpinBox* makeSpin(int low, int high, const QString& name, const QString& zero = {}) {
  auto* box = new QSpinBox;
  box->setRange(low, high);
  box->setSpecialValueText(zero);
  box->setAccessibleName(name);
  box->setGroupSeparatorShown(true);
  return box;
}

QDoubleSpinBox* makeNumber(double low, double high, const QString& name) {
  auto* box = new QDoubleSpinBox;
  box->setDecimals(3);
  box->setRange(low, high);
  box->setSingleStep(0.05);
  box->setAccessibleName(name);
  return box;
}

QComboBox* makeChoice(const QString& name) {
  auto* box = new QComboBox;
  box->setAccessibleName(name);
  return box;
}

QLabel* makeNote(const QString& text) {
  auto* note = new QLabel(text);
  note->setProperty("role", "muted");
  note->setWordWrap(true);
  return note;
}

QFormLayout* makeForm(QWidget* page) {
  auto* form = new QFormLayout(page);
  form->setContentsMargins(16, 16, 16, 16);
  form->setVerticalSpacing(9);
  form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
  return form;
}

// A path that can be copied, and the way to its folder.
QWidget* makePlace(const QString& path, const QString& name) {
  auto* row = new QWidget;
  auto* layout = new QHBoxLayout(row);
  layout->setContentsMargins(0, 0, 0, 0);
  auto* field = new QLineEdit(path);
  field->setProperty("role", "knob");
  field->setReadOnly(true);
  field->setAccessibleName(name);
  field->setCursorPosition(0);
  auto* show = new QPushButton(SettingsDialog::tr("Show folder"));
  show->setAccessibleName(SettingsDialog::tr("Show the folder of %1").arg(name));
  QObject::connect(show, &QPushButton::clicked, show,
                   [path] { QDesktopServices::openUrl(QUrl::fromLocalFile(QFileInfo(path).absolutePath())); });
  layout->addWidget(field, 1);
  layout->addWidget(show);
  return row;
}

}  // namespace

SettingsDialog::SettingsDialog(const Preferences& preferences, const KeptPlaces& places, QWidget* parent)
    : QDialog(parent), m_initial(preferences), m_tabs(new QTabWidget(this)) {
  setWindowTitle(tr("Settings"));
  m_tabs->addTab(makeLook(places), tr("&Look and places"));
  m_tabs->addTab(makeChats(), tr("New &chats"));
  m_tabs->addTab(makeEngine(), tr("&Engine"));
  layOutWidgets();
  showPreferences(preferences);
  const auto look = [this] { emit lookChanged(this->preferences().theme, m_textSize->value()); };
  connect(m_theme, &QComboBox::currentIndexChanged, this, look);
  connect(m_textSize, &QSpinBox::valueChanged, this, look);
  connect(m_save, &QPushButton::clicked, this, &SettingsDialog::check);
  connect(m_cancel, &QPushButton::clicked, this, &QDialog::reject);
  connect(m_defaults, &QPushButton::clicked, this, &SettingsDialog::restoreDefaults);
  connect(this, &QDialog::rejected, this, [this] { emit lookChanged(m_initial.theme, m_initial.textSize); });
}

QWidget* SettingsDialog::makeLook(const KeptPlaces& places) {
  auto* page = new QWidget;
  auto* form = makeForm(page);
  m_theme = makeChoice(tr("Colours"));
  m_theme->addItem(tr("follow the system"), int(style::ThemeMode::Auto));
  m_theme->addItem(tr("light"), int(style::ThemeMode::Light));
  m_theme->addItem(tr("dark"), int(style::ThemeMode::Dark));
  m_textSize = makeSpin(Preferences::kSmallestText, Preferences::kLargestText, tr("Text size"));
  m_textSize->setSuffix(tr(" px"));
  form->addRow(tr("Colours"), m_theme);
  form->addRow(tr("Text size"), m_textSize);
  form->addRow(tr("Chats are kept in"), makePlace(places.chats, tr("chats")));
  form->addRow(tr("Settings are kept in"), makePlace(places.settings, tr("settings")));
  return page;
}

QWidget* SettingsDialog::makeChats() {
  auto* page = new QWidget;
  auto* form = makeForm(page);
  m_system = new QPlainTextEdit;
  m_system->setProperty("role", "field");
  m_system->setAccessibleName(tr("System prompt of new chats"));
  m_system->setPlaceholderText(tr("Instructions the model sees before each new conversation"));
  m_system->setTabChangesFocus(true);
  m_system->setFixedHeight(88);
  m_temperature = makeNumber(0, 2, tr("Temperature"));
  m_topK = makeSpin(0, std::numeric_limits<int>::max(), tr("Top-k"), tr("off"));
  m_topP = makeNumber(0, 1, tr("Top-p"));
  m_minP = makeNumber(0, 1, tr("Min-p"));
  m_repetition = makeNumber(0.001, 10, tr("Repetition penalty"));
  m_maxTokens = makeSpin(1, 1'000'000, tr("Most tokens of one answer"));
  form->addRow(tr("System prompt"), m_system);
  form->addRow(tr("Temperature"), m_temperature);
  form->addRow(tr("Top-k"), m_topK);
  form->addRow(tr("Top-p"), m_topP);
  form->addRow(tr("Min-p"), m_minP);
  form->addRow(tr("Repetition penalty"), m_repetition);
  form->addRow(tr("Most tokens of an answer"), m_maxTokens);
  form->addRow(makeNote(tr("Each chat's own settings (Ctrl+,) go before these; chats that have begun keep theirs.")));
  return page;
}

QWidget* SettingsDialog::makeEngine() {
  auto* page = new QWidget;
  auto* form = makeForm(page);
  m_threads = makeSpin(0, 1024, tr("Threads"), tr("physical cores"));
  m_isa = makeChoice(tr("Instruction set"));
  addInstructionSets(*m_isa);
  m_context = makeSpin(0, 10'000'000, tr("Longest context, tokens"), tr("the model's"));
  m_kvMegabytes = makeSpin(0, 4'000'000, tr("KV memory, MB"), tr("a quarter of free memory"));
  m_kvDtype = makeChoice(tr("KV cache type"));
  addKvTypes(*m_kvDtype);
  m_blockSize = makeChoice(tr("Tokens in a KV block"));
  for (int size = 1; size <= 256; size *= 2) m_blockSize->addItem(QString::number(size), size);
  m_maxSeqs = makeSpin(1, 1'000'000, tr("Most requests in a batch"));
  m_budget = makeSpin(1, 1'000'000, tr("Token budget of a step"));
  m_prefixCache = new QCheckBox(tr("reuse the blocks of equal beginnings"));
  form->addRow(tr("Threads"), m_threads);
  form->addRow(tr("Instruction set"), m_isa);
  form->addRow(tr("Longest context"), m_context);
  form->addRow(tr("KV memory, MB"), m_kvMegabytes);
  form->addRow(tr("KV cache type"), m_kvDtype);
  form->addRow(tr("Tokens in a block"), m_blockSize);
  form->addRow(makeNote(tr("Those above hold for models that are opened from now on, those below at once.")));
  form->addRow(tr("Requests in a batch"), m_maxSeqs);
  form->addRow(tr("Tokens in a step"), m_budget);
  form->addRow(tr("Prefix cache"), m_prefixCache);
  return page;
}

void SettingsDialog::layOutWidgets() {
  m_error = new QLabel(this);
  m_error->setProperty("role", "error");
  m_error->setWordWrap(true);
  m_error->hide();
  m_save = new QPushButton(tr("Save"), this);
  m_save->setProperty("role", "primary");
  m_save->setDefault(true);
  m_cancel = new QPushButton(tr("Cancel"), this);
  m_defaults = new QPushButton(tr("Defaults"), this);
  m_defaults->setToolTip(tr("Show what a new installation begins with"));
  auto* layout = new QVBoxLayout(this);
  layout->addWidget(m_tabs, 1);
  layout->addWidget(m_error);
  auto* buttons = new QHBoxLayout;
  buttons->addWidget(m_defaults);
  buttons->addStretch(1);
  buttons->addWidget(m_cancel);
  buttons->addWidget(m_save);
  layout->addLayout(buttons);
  resize(style::scaledSize(*this, 560, 480));
}

void SettingsDialog::showPreferences(const Preferences& p) {
  const auto choose = [](QComboBox* box, int value) { box->setCurrentIndex(std::max(0, box->findData(value))); };
  choose(m_theme, int(p.theme));
  m_textSize->setValue(p.textSize);
  m_system->setPlainText(p.systemPrompt);
  const auto& s = p.chat.sampling;
  m_temperature->setValue(double(s.temperature));
  m_topK->setValue(int(std::min<std::int64_t>(s.topK, std::numeric_limits<int>::max())));
  m_topP->setValue(double(s.topP));
  m_minP->setValue(double(s.minP));
  m_repetition->setValue(double(s.repetitionPenalty));
  m_maxTokens->setValue(int(std::min<std::int64_t>(s.maxTokens, 1'000'000)));
  m_threads->setValue(p.engine.load.threads);
  choose(m_isa, int(p.engine.load.isa));
  m_context->setValue(int(std::min<std::int64_t>(p.engine.load.maxContext, 10'000'000)));
  m_kvMegabytes->setValue(int(std::min<std::int64_t>(p.engine.load.kvMemoryBytes / kMega, 4'000'000)));
  choose(m_kvDtype, int(p.engine.load.kvDtype));
  choose(m_blockSize, p.engine.load.blockSize);
  m_maxSeqs->setValue(p.engine.limits.maxSeqs);
  m_budget->setValue(p.engine.limits.maxBatchedTokens);
  m_prefixCache->setChecked(p.engine.limits.prefixCache);
}

Preferences SettingsDialog::preferences() const {
  Preferences p = m_initial;
  p.theme = static_cast<style::ThemeMode>(m_theme->currentData().toInt());
  p.textSize = m_textSize->value();
  p.systemPrompt = m_system->toPlainText();
  auto& s = p.chat.sampling;
  s.temperature = float(m_temperature->value());
  s.topK = m_topK->value();
  s.topP = float(m_topP->value());
  s.minP = float(m_minP->value());
  s.repetitionPenalty = float(m_repetition->value());
  s.maxTokens = m_maxTokens->value();
  auto& load = p.engine.load;
  load.threads = m_threads->value();
  load.isa = static_cast<engine::IsaKind>(m_isa->currentData().toInt());
  load.maxContext = m_context->value();
  load.kvMemoryBytes = qint64(m_kvMegabytes->value()) * kMega;
  load.kvDtype = static_cast<engine::KvDType>(m_kvDtype->currentData().toInt());
  load.blockSize = m_blockSize->currentData().toInt();
  p.engine.limits.maxSeqs = m_maxSeqs->value();
  p.engine.limits.maxBatchedTokens = m_budget->value();
  p.engine.limits.prefixCache = m_prefixCache->isChecked();
  return p;
}

QString SettingsDialog::error() const { return m_error->text(); }

// What cannot go together is said here, not at the next model.
void SettingsDialog::check() {
  const Preferences wanted = preferences();
  engine::Result<void> checked = engine::checkSamplingParams(wanted.chat.sampling, 0);
  if (checked) checked = engine::checkLoadConfig(wanted.engine.load);
  if (checked) checked = engine::checkSchedulerLimits(wanted.engine.limits);
  m_error->setVisible(!checked);
  if (checked) {
    accept();
    return;
  }
  m_error->setText(QStringLiteral("× ") + QString::fromStdString(checked.error().message));
}

void SettingsDialog::restoreDefaults() { showPreferences({}); }

}  // namespace ui::panels
