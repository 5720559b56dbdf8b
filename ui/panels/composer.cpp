#include "ui/panels/composer.h"

#include <QHBoxLayout>
#include <QInputMethodEvent>
#include <QKeyEvent>
#include <QLabel>
#include <QMimeData>
#include <QPainter>
#include <QTextBlock>
#include <algorithm>
#include <QPushButton>
#include <QToolButton>
#include <QVBoxLayout>

#include "ui/style/fonts.h"
#include "ui/style/theme.h"
#include "ui/views/context_gauge.h"

namespace ui::panels {

using style::Role;

namespace {

constexpr int kMinLines = 2, kMaxLines = 10;
constexpr int kSides = 2 * 14 + 24, kGap = 4;  // of the row of buttons

}  // namespace

// Keys that would undo or redo nothing here are the window's: Ctrl+Shift+Z brings a deleted chat back.
bool ComposerEdit::event(QEvent* event) {
  if (event->type() == QEvent::ShortcutOverride) {
    const auto* key = static_cast<QKeyEvent*>(event);
    const bool isIdle = (key->matches(QKeySequence::Redo) && !document()->isRedoAvailable()) ||
                        (key->matches(QKeySequence::Undo) && !document()->isUndoAvailable());
    if (isIdle) return false;
  }
  return QPlainTextEdit::event(event);
}

void ComposerEdit::inputMethodEvent(QInputMethodEvent* event) {
  m_isComposing = !event->preeditString().isEmpty();
  QPlainTextEdit::inputMethodEvent(event);
}

bool ComposerEdit::canInsertFromMimeData(const QMimeData* source) const {
  return !source->hasUrls() && QPlainTextEdit::canInsertFromMimeData(source);
}

void ComposerEdit::keyPressEvent(QKeyEvent* event) {
  const bool isEnter = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter;
  if (isEnter && !m_isComposing && !(event->modifiers() & Qt::ShiftModifier)) {
    event->accept();
    emit sendPressed();
    return;
  }
  if (isEnter && (event->modifiers() & Qt::ShiftModifier)) {
    // a paragraph break, so that what is typed is what is sent
    insertPlainText(QStringLiteral("\n"));
    ensureCursorVisible();
    return;
  }
  if (event->key() == Qt::Key_Escape) {
    emit cancelPressed();
    return;
  }
  QPlainTextEdit::keyPressEvent(event);
}

void ComposerEdit::focusInEvent(QFocusEvent* event) {
  QPlainTextEdit::focusInEvent(event);
  if (parentWidget()) parentWidget()->update();
}

void ComposerEdit::focusOutEvent(QFocusEvent* event) {
  QPlainTextEdit::focusOutEvent(event);
  if (parentWidget()) parentWidget()->update();
}

Composer::Composer(QWidget* parent) : QFrame(parent) {
  buildWidgets();
  layOutWidgets();
  connectWidgets();
  fitHeight();
}

void Composer::buildWidgets() {
  m_error = new QLabel(this);
  m_error->setProperty("role", "error");
  m_error->setWordWrap(true);
  m_error->setTextInteractionFlags(Qt::TextSelectableByMouse);
  m_error->setAccessibleName(tr("Problem"));
  m_error->hide();
  m_hint = new QLabel(this);
  m_hint->setProperty("role", "muted");
  m_hint->setWordWrap(true);
  m_hint->hide();
  m_edit = new ComposerEdit(this);
  m_edit->setFrameShape(QFrame::NoFrame);
  m_edit->setFont(style::textFont(14));
  m_edit->setPlaceholderText(tr("Ask something…"));
  m_edit->setAccessibleName(tr("Your message"));
  m_edit->setAccessibleDescription(tr("Enter sends, Shift and Enter begins a new line"));
  m_edit->setTabChangesFocus(true);
  m_edit->viewport()->setAutoFillBackground(false);
  m_system = new QToolButton(this);
  m_system->setText(tr("system prompt"));
  m_system->setAccessibleName(tr("System prompt of this chat"));
  m_settings = new QToolButton(this);
  m_settings->setAccessibleName(tr("Sampling settings of this chat"));
  m_gauge = new views::ContextGauge(this);
  m_send = new QPushButton(tr("Send"), this);
  m_send->setProperty("role", "primary");
  m_send->setAccessibleName(tr("Send"));
  m_stop = new QPushButton(tr("Stop"), this);
  m_stop->setProperty("role", "danger");
  m_stop->setAccessibleName(tr("Stop this answer"));
  m_stop->setToolTip(tr("Stop (Esc)"));
  m_stop->hide();
}

void Composer::layOutWidgets() {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(14, 10, 14, 10);
  layout->setSpacing(6);
  layout->addWidget(m_error);
  layout->addWidget(m_hint);
  layout->addWidget(m_edit);
  auto* row = new QHBoxLayout;
  row->setSpacing(4);
  row->addWidget(m_system);
  row->addWidget(m_settings);
  row->addStretch(1);
  row->addWidget(m_gauge, 2);
  row->addSpacing(16);
  row->addWidget(m_send);
  row->addWidget(m_stop);
  layout->addLayout(row);
  setTabOrder(m_edit, m_send);
  setTabOrder(m_send, m_stop);
  setTabOrder(m_stop, m_system);
  setTabOrder(m_system, m_settings);
}

void Composer::connectWidgets() {
  connect(m_edit, &ComposerEdit::sendPressed, this, [this] {
    if (m_send->isEnabled()) emit sendWanted();
  });
  connect(m_edit, &ComposerEdit::cancelPressed, this, &Composer::cancelWanted);
  connect(m_edit, &QPlainTextEdit::textChanged, this, [this] {
    m_send->setEnabled(!text().trimmed().isEmpty() && !m_isAnswering);
    fitHeight();
    emit textEdited(text());
  });
  connect(m_send, &QPushButton::clicked, this, &Composer::sendWanted);
  connect(m_stop, &QPushButton::clicked, this, &Composer::stopWanted);
  connect(m_system, &QToolButton::clicked, this, &Composer::systemPromptWanted);
  connect(m_settings, &QToolButton::clicked, this, &Composer::settingsWanted);
  m_send->setEnabled(false);
}

QString Composer::text() const {
  // toPlainText() would turn no-break spaces into spaces
  QString text = m_edit->document()->toRawText();
  text.replace(QChar::ParagraphSeparator, QLatin1Char('\n')).replace(QChar::LineSeparator, QLatin1Char('\n'));
  return text;
}

void Composer::setText(const QString& text) {
  if (text != this->text()) m_edit->setPlainText(text);
  m_edit->moveCursor(QTextCursor::End);
}

void Composer::setError(const QString& sentence) {
  m_error->setText(sentence.isEmpty() ? QString() : QStringLiteral("× ") + sentence);
  m_error->setVisible(!sentence.isEmpty());
}

QString Composer::error() const { return m_error->text().mid(2); }

void Composer::setHint(const QString& hint) {
  m_hint->setText(hint);
  m_hint->setVisible(!hint.isEmpty());
}

void Composer::setAnswering(bool answering) {
  m_isAnswering = answering;
  m_stop->setVisible(answering);
  m_send->setVisible(!answering);
  m_send->setEnabled(!answering && !text().trimmed().isEmpty());
}

void Composer::setSettingsText(const QString& text) {
  m_settings->setText(text);
  m_settings->setToolTip(tr("Sampling: %1").arg(text));
  fitRow();
}

void Composer::setCompact(bool compact) {
  m_isCompact = compact;
  fitRow();
}

// What has no room is left out whole; Engine > Chat settings has both.
void Composer::fitRow() {
  const int taken = m_gauge->minimumSizeHint().width() + std::max(m_send->sizeHint().width(), m_stop->sizeHint().width());
  int spare = width() - kSides - taken;
  for (QToolButton* button : {m_settings, m_system}) {
    spare -= button->sizeHint().width() + kGap;
    button->setVisible(!m_isCompact && spare >= 0);
  }
}

void Composer::resizeEvent(QResizeEvent* event) {
  QFrame::resizeEvent(event);
  fitRow();
}

// Grows with the text, up to ten lines.
void Composer::fitHeight() {
  const int line = m_edit->fontMetrics().lineSpacing();
  int lines = 0;
  for (QTextBlock b = m_edit->document()->begin(); b.isValid() && lines < kMaxLines; b = b.next()) {
    lines += std::max(1, b.layout()->lineCount());
  }
  m_edit->setFixedHeight(line * std::clamp(lines, kMinLines, kMaxLines) + 12);
}

void Composer::changeEvent(QEvent* event) {
  QFrame::changeEvent(event);
  if (event->type() != QEvent::FontChange || !m_edit) return;
  fitHeight();
  fitRow();
}

void Composer::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const auto& colors = style::paletteOf(palette());
  painter.setPen(QPen(colors.color(m_edit->hasFocus() ? Role::Accent : Role::Border), m_edit->hasFocus() ? 1.5 : 1));
  painter.setBrush(colors.color(Role::Panel));
  painter.drawRoundedRect(QRectF(rect()).adjusted(1, 1, -1, -1), 10, 10);
}

}  // namespace ui::panels
