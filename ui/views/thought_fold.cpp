#include "ui/views/thought_fold.h"

#include <QLocale>
#include <QPainter>
#include <QToolButton>

#include "ui/style/fonts.h"
#include "ui/style/theme.h"
#include "ui/views/message_text.h"

namespace ui::views {

namespace {

constexpr int kTitleHeight = 26;
constexpr int kIndent = 14;

}  // namespace

ThoughtFold::ThoughtFold(QWidget* parent) : QWidget(parent), m_button(new QToolButton(this)) {
  m_button->setFont(style::textFont(12));
  m_button->setAccessibleName(tr("Thinking"));
  connect(m_button, &QToolButton::clicked, this, [this] { setUnfolded(!isUnfolded()); });
  showTitle();
}

void ThoughtFold::setText(const QString& text) {
  m_text.clear();
  m_words = 0;
  m_isInWord = false;
  if (m_shown) m_shown->setMessage({}, true);
  append(text);
}

void ThoughtFold::append(const QString& delta) {
  m_text += delta;
  countWords(delta);
  if (m_shown) m_shown->appendMessage(delta);
  showTitle();
}

void ThoughtFold::countWords(const QString& delta) {
  for (const QChar c : delta) {
    if (!c.isSpace() && !m_isInWord) ++m_words;
    m_isInWord = !c.isSpace();
  }
}

void ThoughtFold::setThinking(bool thinking) {
  if (m_isThinking == thinking) return;
  m_isThinking = thinking;
  if (!thinking && m_shown) m_shown->finishMessage();
  showTitle();
}

void ThoughtFold::setUnfolded(bool unfolded) {
  if (unfolded == isUnfolded()) return;
  if (unfolded) {
    m_shown = new MessageText(this);
    m_shown->setAccessibleName(tr("Thinking"));
    m_shown->setMessage({}, true);
    m_shown->appendMessage(m_text);
    if (!m_isThinking) m_shown->finishMessage();
    m_shown->show();
  } else {
    delete m_shown;
    m_shown = nullptr;
  }
  showTitle();
  emit foldChanged(unfolded);
}

void ThoughtFold::showTitle() {
  const QString words = tr("%n word(s)", nullptr, m_words);
  const QString arrow = isUnfolded() ? QStringLiteral("▾ ") : QStringLiteral("▸ ");
  m_button->setText(arrow + (m_isThinking ? tr("Thinking … %1").arg(words) : tr("Thought, %1").arg(words)));
  m_button->setToolTip(isUnfolded() ? tr("Fold the thinking away") : tr("Show what the model thought before it answered"));
  m_button->adjustSize();
}

int ThoughtFold::heightFor(int width) {
  const int titleHeight = std::max(kTitleHeight, m_button->sizeHint().height());
  m_button->setGeometry(0, 0, std::min(width, m_button->sizeHint().width()), titleHeight);
  if (!m_shown) return titleHeight;
  const int height = m_shown->heightFor(std::max(60, width - kIndent));
  m_shown->setGeometry(kIndent, titleHeight + 4, width - kIndent, height);
  return titleHeight + 4 + height;
}

void ThoughtFold::refreshColors() {
  if (!m_shown) return;
  m_shown->applyPalette();
  m_shown->setMessage({}, true);
  m_shown->appendMessage(m_text);
  if (!m_isThinking) m_shown->finishMessage();
}

void ThoughtFold::paintEvent(QPaintEvent*) {
  if (!m_shown) return;
  QPainter painter(this);
  const auto& colors = style::paletteOf(palette());
  painter.fillRect(QRect(3, m_shown->y(), 2, m_shown->height()), colors.color(style::Role::Border));
}

}  // namespace ui::views
