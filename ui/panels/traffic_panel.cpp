#include "ui/panels/traffic_panel.h"

#include <QComboBox>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QVBoxLayout>

#include "ui/bridge/engine_bridge.h"
#include "ui/models/run_record.h"
#include "ui/models/traffic_table.h"
#include "ui/panels/scroll_column.h"
#include "ui/style/fonts.h"
#include "ui/style/format.h"

namespace ui::panels {

namespace {

constexpr int kPaceMs = 300;
constexpr int kFieldWidth = 112;  // "lognormal:4.2:0.6" whole

// "rate is x; it takes a number": as the command line says it.
template <typename T, typename Read>
void readNumber(const QString& name, const QString& text, Read read, T& value, QString& sentence) {
  bool isNumber = false;
  const auto number = read(text.trimmed(), &isNumber);
  if (isNumber) value = static_cast<T>(number);
  else if (sentence.isEmpty()) sentence = TrafficPanel::tr("%1 is %2; it takes a number").arg(name, text.isEmpty() ? TrafficPanel::tr("empty") : text);
}

constexpr auto kWhole = [](const QString& text, bool* isNumber) { return text.toLongLong(isNumber); };
constexpr auto kSeed = [](const QString& text, bool* isNumber) { return text.toULongLong(isNumber); };
constexpr auto kReal = [](const QString& text, bool* isNumber) { return text.toDouble(isNumber); };

}  // namespace

TrafficPanel::TrafficPanel(const ViewParts& parts, models::TrafficDraw draw, QWidget* parent)
    : ViewCard(tr("Traffic"), parts.selection, parent), m_run(parts.bridge, std::move(draw)) {
  m_form = new ScrollColumn(buildForm(), tr("Fields of the traffic"));
  m_figures = new QLabel;
  m_figures->setFont(style::textFont(12));
  m_figures->setWordWrap(true);
  m_figures->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  m_figures->setAccessibleName(tr("What came of the traffic"));
  m_form->column().addWidget(m_figures);
  m_start = new QPushButton(tr("Start"));
  m_start->setProperty("role", "primary");
  m_form->column().addWidget(m_start, 0, Qt::AlignLeft);
  setView(m_form);
  setTable(std::make_unique<models::TrafficTable>(m_run));
  connect(m_start, &QPushButton::clicked, this, &TrafficPanel::toggle);
  connect(m_arrival, &QComboBox::currentIndexChanged, this, &TrafficPanel::showFields);
  connect(&m_run, &models::TrafficRun::changed, this, &TrafficPanel::moveOn);
  connect(&m_run, &models::TrafficRun::failed, this, &TrafficPanel::showError);
  connect(&parts.record, &models::RunRecord::changed, this, &TrafficPanel::moveOn);
  showFields();
}

void TrafficPanel::addField(QFormLayout& form, const QString& name, const QString& label, const QString& value, const QString& tip) {
  auto* edit = new QLineEdit(value);
  edit->setProperty("role", "knob");
  edit->setToolTip(tip);
  edit->setAccessibleName(label);
  edit->setAccessibleDescription(tip);
  form.addRow(label, edit);
  m_fields[name] = edit;
  m_labels[name] = form.labelForField(edit);
}

QWidget* TrafficPanel::buildForm() {
  auto* box = new QWidget;
  auto* form = new QFormLayout(box);
  form->setContentsMargins(0, 0, 6, 0);
  form->setVerticalSpacing(5);
  form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
  const models::TrafficSpec usual;
  m_arrival = new QComboBox;
  m_arrival->setProperty("role", "knob");
  m_arrival->setFocusPolicy(Qt::StrongFocus);
  m_arrival->addItems({QStringLiteral("closed"), QStringLiteral("poisson"), QStringLiteral("gamma"), QStringLiteral("ramp")});
  m_arrival->setAccessibleName(tr("arrivals"));
  m_arrival->setToolTip(tr("closed: each user asks again when answered; the others come whether or not the engine keeps up"));
  form->addRow(tr("arrivals"), m_arrival);
  addField(*form, QStringLiteral("requests"), tr("users"), QString::number(usual.users), tr("how many synthetic users"));
  addField(*form, QStringLiteral("rounds"), tr("questions each"), QString::number(usual.rounds), tr("one after another"));
  addField(*form, QStringLiteral("rate"), tr("users a second"), QString::number(usual.ratePerSecond), tr("of a ramp: at its end"));
  addField(*form, QStringLiteral("burstiness"), tr("burstiness"), QString::number(usual.burstiness), tr("1 is as poisson, below comes in bursts"));
  const QString lengths = tr("fixed:N, uniform:A:B or lognormal:MU:SIGMA, in tokens");
  addField(*form, QStringLiteral("prompt-lengths"), tr("prompt lengths"), QString::fromStdString(usual.promptLengths), lengths);
  addField(*form, QStringLiteral("output-lengths"), tr("output lengths"), QString::fromStdString(usual.outputLengths), lengths);
  addField(*form, QStringLiteral("shared-prefix"), tr("shared prefix"), QString::number(usual.sharedPrefix), tr("tokens that every prompt begins with"));
  addField(*form, QStringLiteral("seed"), tr("seed"), QString::number(usual.seed), tr("the same seed, the same users"));
  addField(*form, QStringLiteral("slo-ttft-ms"), tr("SLO: TTFT, ms"), QStringLiteral("1000"), tr("empty = none"));
  addField(*form, QStringLiteral("slo-tpot-ms"), tr("SLO: TPOT, ms"), QStringLiteral("100"), tr("empty = none"));
  return box;
}

void TrafficPanel::showFields() {
  const QString arrival = m_arrival->currentText();
  const auto show = [this](const char* name, bool isShown) {
    m_fields[QLatin1String(name)]->setVisible(isShown);
    m_labels[QLatin1String(name)]->setVisible(isShown);
  };
  show("rounds", arrival == QLatin1String("closed"));
  show("rate", arrival != QLatin1String("closed"));
  show("burstiness", arrival == QLatin1String("gamma"));
}

void TrafficPanel::setField(const QString& name, const QString& value) {
  if (name == QLatin1String("arrival")) m_arrival->setCurrentText(value);
  else if (const auto found = m_fields.find(name); found != m_fields.end()) found->second->setText(value);
}

models::TrafficSpec TrafficPanel::spec(QString& sentence) const {
  models::TrafficSpec spec;
  const auto text = [this](const char* name) { return m_fields.at(QLatin1String(name))->text(); };
  const auto number = [&](const char* name, auto read, auto& value) {
    readNumber(QLatin1String(name), text(name), read, value, sentence);
  };
  spec.arrival = m_arrival->currentText().toStdString();
  number("requests", kWhole, spec.users);
  number("rounds", kWhole, spec.rounds);
  number("rate", kReal, spec.ratePerSecond);
  number("burstiness", kReal, spec.burstiness);
  number("shared-prefix", kWhole, spec.sharedPrefix);
  number("seed", kSeed, spec.seed);
  spec.promptLengths = text("prompt-lengths").trimmed().toStdString();
  spec.outputLengths = text("output-lengths").trimmed().toStdString();
  const auto limit = [&](const char* name, std::optional<double>& value) {
    if (text(name).trimmed().isEmpty()) return;
    double ms = 0;
    number(name, kReal, ms);
    if (sentence.isEmpty() && !(ms > 0)) sentence = tr("%1 is %2; it takes numbers above 0").arg(QLatin1String(name)).arg(ms);
    value = ms;
  };
  limit("slo-ttft-ms", spec.slo.ttftMs);
  limit("slo-tpot-ms", spec.slo.tpotMs);
  return spec;
}

void TrafficPanel::toggle() {
  showError({});
  if (m_run.isRunning()) {
    m_run.stop();
    return;
  }
  QString sentence;
  const models::TrafficSpec wanted = spec(sentence);
  if (sentence.isEmpty()) sentence = m_run.start(wanted);
  showError(sentence);
}

void TrafficPanel::showError(const QString& sentence) { m_form->setError(sentence); }

QString TrafficPanel::error() const { return m_form->error(); }

QString TrafficPanel::figuresText() const {
  const auto figures = m_run.figures();
  if (figures.planned == 0) return tr("Requests go through the same engine as the chats.");
  QStringList lines;
  lines << tr("%1 of %2 sent · %3 under way · %4 done").arg(figures.sent).arg(figures.planned).arg(figures.running).arg(figures.done) +
               (figures.refused > 0 ? tr(" · %1 refused").arg(figures.refused) : QString()) +
               (figures.failed > 0 ? tr(" · %1 failed").arg(figures.failed) : QString());
  lines << tr("goodput %1 of %2 requests a second · %3 of %4 within the SLO")
               .arg(figures.goodput(), 0, 'f', 2).arg(figures.throughput(), 0, 'f', 2).arg(figures.good).arg(figures.done);
  return lines.join(QLatin1Char('\n'));
}

void TrafficPanel::refreshView() {
  const QString word = m_run.isRunning() ? tr("Stop") : tr("Start");
  if (m_start->text() != word) m_start->setText(word);
  if (m_run.isRunning() && m_pace.isValid() && m_pace.elapsed() < kPaceMs) return;  // words are laid out anew
  m_pace.start();
  m_figures->setText(figuresText());
  const auto figures = m_run.figures();
  setFigure(figures.planned == 0 ? QString() : tr("goodput %1 req/s · %2 s").arg(figures.goodput(), 0, 'f', 2).arg(figures.seconds, 0, 'f', 1));
}

}  // namespace ui::panels
