#include "ui/panels/log_window.h"

#include <QApplication>
#include <QCheckBox>
#include <QClipboard>
#include <QHBoxLayout>
#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QVBoxLayout>
#include <utility>

#include "ui/style/fonts.h"

namespace ui::panels {

LogWindow::LogWindow(models::LogLines& log, std::function<QString()> diagnostics, QWidget* parent)
    : QDialog(parent), m_log(log), m_diagnostics(std::move(diagnostics)) {
  setWindowTitle(tr("Log"));
  buildWidgets();
  layOutWidgets();
  connect(&m_log, &models::LogLines::added, this, [this](const models::LogLine& line) {
    if (isVisible()) append(line);
  });
  connect(m_problemsOnly, &QCheckBox::toggled, this, &LogWindow::showAll);
  connect(m_copy, &QPushButton::clicked, this, &LogWindow::copyDiagnostics);
  connect(m_close, &QPushButton::clicked, this, &QDialog::close);
}

void LogWindow::buildWidgets() {
  m_text = new QPlainTextEdit(this);
  m_text->setProperty("role", "field");
  m_text->setReadOnly(true);
  m_text->setFont(style::monoFont(12));
  m_text->setLineWrapMode(QPlainTextEdit::NoWrap);
  m_text->setMaximumBlockCount(int(models::LogLines::kMost));
  m_text->setAccessibleName(tr("Log"));
  m_text->setTabChangesFocus(true);
  m_problemsOnly = new QCheckBox(tr("&problems only"), this);
  m_note = new QLabel(tr("Diagnostics name the version, machine, model, knobs and the last log lines. Nothing that was said in chats."), this);
  m_note->setProperty("role", "muted");
  m_note->setWordWrap(true);
  m_copy = new QPushButton(tr("&Copy diagnostics"), this);
  m_copy->setProperty("role", "primary");
  m_close = new QPushButton(tr("Close"), this);
}

void LogWindow::layOutWidgets() {
  auto* layout = new QVBoxLayout(this);
  layout->addWidget(m_text, 1);
  layout->addWidget(m_note);
  auto* row = new QHBoxLayout;
  row->addWidget(m_problemsOnly);
  row->addStretch(1);
  row->addWidget(m_copy);
  row->addWidget(m_close);
  layout->addLayout(row);
  resize(style::scaledSize(*this, 820, 460));
}

void LogWindow::showEvent(QShowEvent* event) {
  QDialog::showEvent(event);
  showAll();
}

void LogWindow::showAll() {
  m_text->clear();
  for (const models::LogLine& line : m_log.lines()) append(line);
}

void LogWindow::append(const models::LogLine& line) {
  if (m_problemsOnly->isChecked() && line.severity == engine::Severity::Info) return;
  m_text->appendPlainText(models::toText(line));
}

QString LogWindow::shownText() const { return m_text->toPlainText(); }

void LogWindow::copyDiagnostics() {
  QApplication::clipboard()->setText(m_diagnostics());
  m_copy->setText(tr("Copied"));
}

}  // namespace ui::panels
