#include "ui/panels/chat_settings_dialog.h"

#include <QCheckBox>
#include <QDoubleSpinBox>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QVBoxLayout>
#include <algorithm>
#include <limits>

#include "ui/models/chat_json.h"

namespace ui::panels {

ChatSettingsDialog::ChatSettingsDialog(const QString& systemPrompt,
                                       const models::ChatSettings& settings,
                                       QWidget* parent)
    : QDialog(parent), m_initial(settings) {
  setWindowTitle(tr("This chat's settings"));
  buildWidgets(systemPrompt, settings);
  layOutWidgets();
  connectWidgets();
}

QDoubleSpinBox* ChatSettingsDialog::addNumber(const QString& name,
                                              double value,
                                              double low,
                                              double high,
                                              const QString& hint) {
  auto* box = new QDoubleSpinBox(this);
  box->setDecimals(3);
  box->setRange(low, high);
  box->setSingleStep(0.05);
  box->setValue(value);
  box->setAccessibleName(name);
  box->setToolTip(hint);
  auto* row = new QHBoxLayout;
  auto* range = new QLabel(tr("%1 to %2 · %3").arg(low).arg(high).arg(hint), this);
  range->setProperty("role", "muted");
  row->addWidget(box);
  row->addWidget(range, 1);
  auto* label = new QLabel(name, this);
  label->setBuddy(box);
  m_form->addRow(label, row);
  return box;
}

// One column of numbers, wide enough for the largest of them.
void ChatSettingsDialog::alignNumbers() {
  QAbstractSpinBox* const boxes[] = {m_temperature, m_topK, m_topP, m_minP, m_repetition, m_presence, m_frequency, m_maxTokens};
  int width = 0;
  for (QAbstractSpinBox* box : boxes) {
    box->ensurePolished();  // its style knows how wide it is
    width = std::max(width, box->sizeHint().width());
  }
  for (QAbstractSpinBox* box : boxes) box->setFixedWidth(width);
}

void ChatSettingsDialog::buildWidgets(const QString& systemPrompt, const models::ChatSettings& settings) {
  const auto& s = settings.sampling;
  m_form = new QFormLayout;
  m_system = new QPlainTextEdit(systemPrompt, this);
  m_system->setProperty("role", "field");
  m_system->setAccessibleName(tr("System prompt"));
  m_system->setPlaceholderText(tr("Instructions the model sees before the conversation"));
  m_system->setTabChangesFocus(true);
  m_system->setFixedHeight(96);
  m_form->addRow(tr("System prompt"), m_system);
  m_temperature = addNumber(tr("Temperature"), double(s.temperature), 0, 2, tr("0 always takes the likeliest token"));
  m_topK = new QSpinBox(this);
  m_topK->setRange(0, std::numeric_limits<int>::max());
  m_topK->setValue(int(s.topK));
  m_topK->setSpecialValueText(tr("off"));
  m_topK->setAccessibleName(tr("Top-k"));
  m_form->addRow(tr("Top-k"), m_topK);
  m_topP = addNumber(tr("Top-p"), double(s.topP), 0, 1, tr("1 is off, 0 keeps one token"));
  m_minP = addNumber(tr("Min-p"), double(s.minP), 0, 1, tr("0 is off"));
  m_repetition = addNumber(tr("Repetition penalty"), double(s.repetitionPenalty), 0.001, 10, tr("1 is off"));
  m_presence = addNumber(tr("Presence penalty"), double(s.presencePenalty), -2, 2, tr("0 is off"));
  m_frequency = addNumber(tr("Frequency penalty"), double(s.frequencyPenalty), -2, 2, tr("0 is off"));
  m_seedFixed = new QCheckBox(tr("same seed for every answer"), this);
  m_seedFixed->setChecked(settings.isSeedFixed);
  m_seed = new QLineEdit(QString::number(s.seed), this);
  m_seed->setProperty("role", "knob");
  m_seed->setAccessibleName(tr("Seed"));
  m_seed->setEnabled(settings.isSeedFixed);
  m_maxTokens = new QSpinBox(this);
  m_maxTokens->setRange(1, 1'000'000);
  m_maxTokens->setValue(int(std::min<std::int64_t>(s.maxTokens, 1'000'000)));
  m_maxTokens->setAccessibleName(tr("Most tokens of one answer"));
  QStringList stops;
  for (const auto& stop : s.stop) stops << QString::fromStdString(stop);
  m_stop = new QPlainTextEdit(stops.join(QLatin1Char('\n')), this);
  m_stop->setProperty("role", "field");
  m_stop->setAccessibleName(tr("Stop strings, one a line"));
  m_stop->setPlaceholderText(tr("one a line"));
  m_stop->setTabChangesFocus(true);
  m_stop->setFixedHeight(52);
  m_tools = new QPlainTextEdit(settings.toolsJson, this);
  m_tools->setProperty("role", "field");
  m_tools->setAccessibleName(tr("Tools offered to the model, a JSON list"));
  m_tools->setPlaceholderText(QStringLiteral("[{\"type\": \"function\", \"function\": {\"name\": \"get_weather\", …}}]"));
  m_tools->setTabChangesFocus(true);
  m_tools->setFixedHeight(52);
  m_error = new QLabel(this);
  m_error->setProperty("role", "error");
  m_error->setWordWrap(true);
  m_error->hide();
}

void ChatSettingsDialog::layOutWidgets() {
  auto* seedRow = new QHBoxLayout;
  seedRow->addWidget(m_seed);
  seedRow->addWidget(m_seedFixed);
  m_form->addRow(tr("Seed"), seedRow);
  m_form->addRow(tr("Most tokens"), m_maxTokens);
  m_form->addRow(tr("Stop strings"), m_stop);
  m_form->addRow(tr("Tools (JSON)"), m_tools);
  auto* layout = new QVBoxLayout(this);
  layout->addLayout(m_form);
  layout->addWidget(m_error);
  auto* cancel = new QPushButton(tr("Cancel"), this);
  auto* save = new QPushButton(tr("Save"), this);
  save->setProperty("role", "primary");
  save->setDefault(true);
  auto* buttons = new QHBoxLayout;
  buttons->addStretch(1);
  buttons->addWidget(cancel);
  buttons->addWidget(save);
  layout->addLayout(buttons);
  connect(save, &QPushButton::clicked, this, &ChatSettingsDialog::accept);
  connect(cancel, &QPushButton::clicked, this, &QDialog::reject);
  alignNumbers();
  setMinimumWidth(540);
}

void ChatSettingsDialog::connectWidgets() {
  connect(m_seedFixed, &QCheckBox::toggled, m_seed, &QWidget::setEnabled);
}

QString ChatSettingsDialog::systemPrompt() const { return m_system->toPlainText(); }

models::ChatSettings ChatSettingsDialog::settings() const {
  models::ChatSettings out = m_initial;
  auto& s = out.sampling;
  s.temperature = float(m_temperature->value());
  s.topK = m_topK->value();
  s.topP = float(m_topP->value());
  s.minP = float(m_minP->value());
  s.repetitionPenalty = float(m_repetition->value());
  s.presencePenalty = float(m_presence->value());
  s.frequencyPenalty = float(m_frequency->value());
  out.isSeedFixed = m_seedFixed->isChecked();
  s.seed = m_seed->text().trimmed().toULongLong();
  s.maxTokens = m_maxTokens->value();
  out.toolsJson = m_tools->toPlainText().trimmed();
  s.stop.clear();
  for (const QString& line : m_stop->toPlainText().split(QLatin1Char('\n'))) {
    if (!line.isEmpty()) s.stop.push_back(line.toStdString());
  }
  return out;
}

void ChatSettingsDialog::focusSystemPrompt() { m_system->setFocus(); }

void ChatSettingsDialog::accept() {
  bool isNumber = false;
  m_seed->text().trimmed().toULongLong(&isNumber);
  QString problem;
  if (m_seedFixed->isChecked() && !isNumber) {
    problem = tr("The seed \"%1\" is not a whole number from 0 to 18446744073709551615.").arg(m_seed->text());
  } else if (auto checked = engine::checkSamplingParams(settings().sampling, 0); !checked) {
    problem = QString::fromStdString(checked.error().message);
  } else {
    problem = models::whatIsWrongWithTools(m_tools->toPlainText());
  }
  m_error->setText(problem);
  m_error->setVisible(!problem.isEmpty());
  if (problem.isEmpty()) QDialog::accept();
}

}  // namespace ui::panels
