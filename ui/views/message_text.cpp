#include "ui/views/message_text.h"

#include <QAbstractTextDocumentLayout>
#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QDesktopServices>
#include <QKeyEvent>
#include <QMenu>
#include <QMouseEvent>
#include <QPainter>
#include <QTextBlock>
#include <cmath>
#include <memory>

#include "ui/style/fonts.h"
#include "ui/style/theme.h"

namespace ui::views {

using style::Role;

namespace {

constexpr int kLabelHeight = 30;
constexpr int kCardBottom = 12;
constexpr int kCopyWidth = 60;

}  // namespace

MessageText::MessageText(QWidget* parent) : QTextBrowser(parent), m_document(new MessageDocument(this)) {
  setDocument(m_document);
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setOpenLinks(false);
  setTextInteractionFlags(Qt::TextBrowserInteraction | Qt::TextSelectableByKeyboard);
  viewport()->setAutoFillBackground(false);
  setAutoFillBackground(false);
  setTabChangesFocus(true);
  connect(this, &QTextBrowser::anchorClicked, this, [](const QUrl& url) {
    const QString scheme = url.scheme();
    if (scheme == QLatin1String("http") || scheme == QLatin1String("https")) QDesktopServices::openUrl(url);
  });
  applyPalette();
}

void MessageText::applyPalette() {
  const auto& colors = style::paletteOf(QApplication::palette());
  m_document->setColors(colors);
  QPalette p = colors.qtPalette();
  p.setColor(QPalette::Base, Qt::transparent);
  setPalette(p);
}

void MessageText::refreshColors() {
  applyPalette();
  m_document->writeAnew();
}

void MessageText::setMessage(const QString& text, bool isMarkdown) {
  m_document->setMessage(text, isMarkdown);
}

void MessageText::appendMessage(const QString& delta) { m_document->appendMessage(delta); }

void MessageText::finishMessage() { m_document->finishMessage(); }

int MessageText::heightFor(int width) {
  if (m_document->textWidth() != width) m_document->setTextWidth(width);
  // the last block's bottom margin is not part of the document
  const int below = m_document->endsInCode() ? kCardBottom + 2 : 0;
  return static_cast<int>(std::ceil(m_document->size().height())) + below;
}

int MessageText::idealWidth() const {
  constexpr int kLongestShort = 2000;  // laying out a long text on one line costs more than it tells
  if (m_document->characterCount() > kLongestShort) return QWIDGETSIZE_MAX / 2;
  const qreal before = m_document->textWidth();
  m_document->setTextWidth(-1);
  const int ideal = static_cast<int>(std::ceil(m_document->idealWidth()));
  m_document->setTextWidth(before);
  return ideal;
}

std::vector<MessageText::CodeCard> MessageText::cardsIn(const QRectF& area) const {
  std::vector<CodeCard> cards;
  const auto* layout = m_document->documentLayout();
  for (const CodeBlock& code : m_document->codeBlocks()) {
    const QTextBlock first = m_document->findBlockByNumber(code.firstBlock);
    const QTextBlock last = m_document->findBlockByNumber(code.lastBlock);
    if (code.firstBlock < 0 || !first.isValid() || !last.isValid()) continue;
    // a block's rectangle begins below its top margin
    const qreal top = layout->blockBoundingRect(first).top() - kLabelHeight + 2;
    const qreal bottom = layout->blockBoundingRect(last).bottom() + kCardBottom;
    const QRectF frame(0.5, top + 0.5, viewport()->width() - 1, bottom - top - 1);
    if (!frame.intersects(area)) continue;
    cards.push_back({frame, QRectF(frame.right() - kCopyWidth, frame.top(), kCopyWidth, kLabelHeight), &code});
  }
  return cards;
}

void MessageText::paintEvent(QPaintEvent* event) {
  {
    QPainter painter(viewport());
    painter.setRenderHint(QPainter::Antialiasing);
    const auto& colors = style::paletteOf(QApplication::palette());
    painter.setFont(style::textFont(11));
    for (const CodeCard& card : cardsIn(QRectF(event->rect()))) {
      painter.setPen(colors.color(Role::Border));
      painter.setBrush(colors.color(Role::CodeBackground));
      painter.drawRoundedRect(card.frame, 8, 8);
      painter.setPen(colors.color(Role::MutedText));
      const QRectF label(card.frame.left() + 14, card.frame.top(), card.frame.width() - 90, kLabelHeight);
      painter.drawText(label, Qt::AlignVCenter, card.code->language.isEmpty() ? tr("code") : card.code->language);
      painter.setPen(colors.color(Role::Link));
      painter.drawText(card.copyPlace.adjusted(0, 0, -14, 0), Qt::AlignVCenter | Qt::AlignRight, tr("copy"));
    }
  }
  QTextBrowser::paintEvent(event);
}

void MessageText::wheelEvent(QWheelEvent* event) { event->ignore(); }

void MessageText::keyPressEvent(QKeyEvent* event) {
  switch (event->key()) {
    case Qt::Key_PageUp: case Qt::Key_PageDown: case Qt::Key_Home: case Qt::Key_End:
    case Qt::Key_Up: case Qt::Key_Down:
      if (event->modifiers() == Qt::NoModifier) {
        event->ignore();  // the transcript scrolls
        return;
      }
      break;
    default: break;
  }
  QTextBrowser::keyPressEvent(event);
}

const CodeBlock* MessageText::copyPlaceAt(QPointF position) const {
  for (const CodeCard& card : cardsIn(QRectF(position, QSizeF(1, 1)))) {
    if (card.copyPlace.contains(position)) return card.code;
  }
  return nullptr;
}

void MessageText::copyCode(const CodeBlock& code) {
  const QString text = m_document->codeText(code);
  QApplication::clipboard()->setText(text);
  emit codeCopied(text);
}

void MessageText::mouseMoveEvent(QMouseEvent* event) {
  QTextBrowser::mouseMoveEvent(event);
  if (copyPlaceAt(event->position())) viewport()->setCursor(Qt::PointingHandCursor);
}

void MessageText::mouseReleaseEvent(QMouseEvent* event) {
  if (const CodeBlock* code = copyPlaceAt(event->position()); code && event->button() == Qt::LeftButton) {
    copyCode(*code);
    return;
  }
  QTextBrowser::mouseReleaseEvent(event);
}

void MessageText::contextMenuEvent(QContextMenuEvent* event) {
  std::unique_ptr<QMenu> menu(createStandardContextMenu());
  for (const CodeBlock& code : m_document->codeBlocks()) {
    menu->addAction(tr("Copy %1 code, %n line(s)", nullptr, code.lastBlock - code.firstBlock + 1)
                        .arg(code.language),
                    this, [this, &code] { copyCode(code); });
  }
  menu->exec(event->globalPos());
}

}  // namespace ui::views
