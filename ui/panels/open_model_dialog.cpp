#include "ui/panels/open_model_dialog.h"

#include <QComboBox>
#include <QFileDialog>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QTableWidget>
#include <QVBoxLayout>

#include "ui/panels/load_choices.h"
#include "ui/style/fonts.h"
#include "ui/style/format.h"

namespace ui::panels {

namespace {

constexpr qint64 kMega = 1'000'000;

QSpinBox* makeSpin(QWidget* parent, int low, int high, qint64 value, const QString& zero, const QString& name) {
  auto* box = new QSpinBox(parent);
  box->setRange(low, high);
  box->setValue(int(std::clamp<qint64>(value, low, high)));
  box->setSpecialValueText(zero);
  box->setAccessibleName(name);
  box->setGroupSeparatorShown(true);
  return box;
}

}  // namespace

OpenModelDialog::OpenModelDialog(bridge::EngineBridge& bridge,
                                 const engine::EngineConfig& initial,
                                 const QStringList& recent,
                                 QWidget* parent)
    : QDialog(parent), m_bridge(bridge), m_initial(initial) {
  setWindowTitle(tr("Open a model"));
  buildWidgets(initial, recent);
  layOutWidgets();
  connectWidgets();
  estimate();
}

void OpenModelDialog::buildWidgets(const engine::EngineConfig& initial, const QStringList& recent) {
  const auto& load = initial.load;
  m_form = new QFormLayout;
  m_path = new QComboBox(this);
  m_path->setEditable(true);
  m_path->addItems(recent);
  m_path->setCurrentText(QString::fromStdString(load.modelPath));
  m_path->setAccessibleName(tr("Model file"));
  m_path->lineEdit()->setPlaceholderText(tr("a GGUF file"));
  m_path->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  m_path->setMinimumContentsLength(30);
  m_path->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  m_browse = new QPushButton(tr("Browse…"), this);
  m_context = makeSpin(this, 0, 10'000'000, load.maxContext, tr("the model's"), tr("Longest context, tokens"));
  m_kvDtype = new QComboBox(this);
  m_kvDtype->setAccessibleName(tr("KV cache type"));
  addKvTypes(*m_kvDtype);
  m_kvDtype->setCurrentIndex(std::max(0, m_kvDtype->findData(int(load.kvDtype))));
  m_blockSize = new QComboBox(this);
  m_blockSize->setAccessibleName(tr("Tokens in a KV block"));
  for (int size = 1; size <= 256; size *= 2) m_blockSize->addItem(QString::number(size), size);
  m_blockSize->setCurrentIndex(std::max(0, m_blockSize->findData(load.blockSize)));
  m_kvMegabytes = makeSpin(this, 0, 4'000'000, load.kvMemoryBytes / kMega, tr("a quarter of free memory"), tr("KV memory, MB"));
  m_kvBlocks = makeSpin(this, 0, 100'000'000, load.kvBlocks, tr("by memory"), tr("KV blocks"));
  m_threads = makeSpin(this, 0, 1024, load.threads, tr("physical cores"), tr("Threads"));
  m_isa = new QComboBox(this);
  m_isa->setAccessibleName(tr("Instruction set"));
  addInstructionSets(*m_isa);
  m_isa->setCurrentIndex(std::max(0, m_isa->findData(int(load.isa))));
  m_table = new QTableWidget(0, 3, this);
  m_table->setHorizontalHeaderLabels({tr("memory for"), tr("size"), tr("how it comes about")});
  m_table->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
  m_table->horizontalHeaderItem(1)->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
  m_table->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
  m_table->horizontalHeader()->setSectionResizeMode(2, QHeaderView::Stretch);
  m_table->verticalHeader()->setDefaultSectionSize(26);
  m_table->verticalHeader()->hide();
  m_table->setEditTriggers(QAbstractItemView::NoEditTriggers);
  m_table->setSelectionMode(QAbstractItemView::NoSelection);
  m_table->setShowGrid(false);
  m_table->setAccessibleName(tr("Memory estimate"));
  m_table->setMinimumHeight(170);
  m_sum = new QLabel(this);
  m_sum->setWordWrap(true);
  m_error = new QLabel(this);
  m_error->setProperty("role", "error");
  m_error->setWordWrap(true);
  m_error->hide();
  m_load = new QPushButton(tr("Load"), this);
  m_load->setProperty("role", "primary");
  m_load->setDefault(true);
  m_cancel = new QPushButton(tr("Cancel"), this);
}

void OpenModelDialog::layOutWidgets() {
  auto* fileRow = new QHBoxLayout;
  fileRow->addWidget(m_path, 1);
  fileRow->addWidget(m_browse);
  m_form->addRow(tr("Model file"), fileRow);
  m_form->addRow(tr("Longest context"), m_context);
  m_form->addRow(tr("KV cache type"), m_kvDtype);
  m_form->addRow(tr("KV memory, MB"), m_kvMegabytes);
  m_form->addRow(tr("KV blocks"), m_kvBlocks);
  m_form->addRow(tr("Tokens in a block"), m_blockSize);
  m_form->addRow(tr("Threads"), m_threads);
  m_form->addRow(tr("Instruction set"), m_isa);
  auto* layout = new QVBoxLayout(this);
  layout->addLayout(m_form);
  layout->addWidget(m_table, 1);
  layout->addWidget(m_sum);
  layout->addWidget(m_error);
  auto* buttons = new QHBoxLayout;
  buttons->addStretch(1);
  buttons->addWidget(m_cancel);
  buttons->addWidget(m_load);
  layout->addLayout(buttons);
  resize(style::scaledSize(*this, 640, 620));
}

void OpenModelDialog::connectWidgets() {
  m_estimateTimer.setSingleShot(true);
  m_estimateTimer.setInterval(120);
  connect(&m_estimateTimer, &QTimer::timeout, this, &OpenModelDialog::estimate);
  const auto changed = [this] { m_estimateTimer.start(); };
  connect(m_path, &QComboBox::currentTextChanged, this, changed);
  for (QComboBox* box : {m_blockSize, m_kvDtype, m_isa}) {
    connect(box, &QComboBox::currentIndexChanged, this, changed);
  }
  for (QSpinBox* box : {m_context, m_kvMegabytes, m_kvBlocks, m_threads}) {
    connect(box, &QSpinBox::valueChanged, this, changed);
  }
  connect(m_browse, &QPushButton::clicked, this, &OpenModelDialog::browse);
  connect(m_cancel, &QPushButton::clicked, this, &QDialog::reject);
  connect(m_load, &QPushButton::clicked, this, &QDialog::accept);
}

engine::EngineConfig OpenModelDialog::config() const {
  engine::EngineConfig config = m_initial;
  auto& load = config.load;
  load.modelPath = m_path->currentText().trimmed().toStdString();
  load.maxContext = m_context->value();
  load.kvDtype = static_cast<engine::KvDType>(m_kvDtype->currentData().toInt());
  load.kvMemoryBytes = qint64(m_kvMegabytes->value()) * kMega;
  load.kvBlocks = m_kvBlocks->value();
  load.blockSize = m_blockSize->currentData().toInt();
  load.threads = m_threads->value();
  load.isa = static_cast<engine::IsaKind>(m_isa->currentData().toInt());
  return config;
}

void OpenModelDialog::setPath(const QString& path) { m_path->setCurrentText(path); }

void OpenModelDialog::browse() {
  auto* dialog = new QFileDialog(this, tr("Open a model"), m_path->currentText(), tr("Models (*.gguf);;All files (*)"));
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  connect(dialog, &QFileDialog::fileSelected, this, &OpenModelDialog::setPath);
  dialog->open();
}

void OpenModelDialog::setError(const QString& sentence) {
  m_error->setText(sentence.isEmpty() ? QString() : QStringLiteral("× ") + sentence);
  m_error->setVisible(!sentence.isEmpty());
}

QString OpenModelDialog::error() const { return m_error->text().mid(2); }

void OpenModelDialog::estimate() {
  const engine::EngineConfig wanted = config();
  setError({});
  m_load->setText(tr("Load"));
  m_load->setEnabled(false);
  if (wanted.load.modelPath.empty()) {
    m_table->setRowCount(0);
    m_sum->clear();
    return;
  }
  if (auto checked = engine::checkLoadConfig(wanted.load); !checked) {
    setError(QString::fromStdString(checked.error().message));
    return;
  }
  const std::uint64_t asked = ++m_lastAsked;
  m_bridge.ask(engine::EstimateQuery{wanted.load}, this, [this, asked](const engine::QueryAnswer& answer) {
    if (asked != m_lastAsked) return;  // a newer question is under way
    if (const auto* estimated = std::get_if<engine::MemoryEstimate>(&answer.answer)) showEstimate(*estimated);
    if (const auto* error = std::get_if<engine::Error>(&answer.answer)) {
      m_table->setRowCount(0);
      m_sum->clear();
      setError(QString::fromStdString(error->message));
    }
  });
}

void OpenModelDialog::showEstimate(const engine::MemoryEstimate& estimate) {
  m_table->setRowCount(int(estimate.items.size()));
  for (int row = 0; row < m_table->rowCount(); ++row) {
    const auto& item = estimate.items[std::size_t(row)];
    auto* size = new QTableWidgetItem(style::formatBytes(item.bytes));
    size->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
    m_table->setItem(row, 0, new QTableWidgetItem(QString::fromStdString(item.name)));
    m_table->setItem(row, 1, size);
    m_table->setItem(row, 2, new QTableWidgetItem(QString::fromStdString(item.note)));
  }
  const bool fits = estimate.freeBytes <= 0 || estimate.totalBytes <= estimate.freeBytes;
  m_sum->setText(tr("%1 in all of %2 free now · the cache holds %3 tokens")
                     .arg(style::formatBytes(estimate.totalBytes), style::formatBytes(estimate.freeBytes),
                          style::formatCount(estimate.kvCapacityTokens)));
  if (!fits) {
    setError(tr("This needs %1 more than is free.").arg(style::formatBytes(estimate.totalBytes - estimate.freeBytes)));
  }
  m_load->setText(fits ? tr("Load") : tr("Load anyway"));
  m_load->setEnabled(true);
}

}  // namespace ui::panels
