// Shows one message document at its full height: selectable text, links, and code cards with a copy button.
#pragma once

#include <QTextBrowser>
#include <vector>

#include "ui/views/message_document.h"

namespace ui::views {

// Never scrolls by itself: the transcript does. Ui thread only.
class MessageText : public QTextBrowser {
  Q_OBJECT

 public:
  explicit MessageText(QWidget* parent = nullptr);

  void setMessage(const QString& text, bool isMarkdown);
  void appendMessage(const QString& delta);
  void finishMessage();
  void setMonospace() { m_document->setMonospace(); }
  // Height of the whole text at this width.
  int heightFor(int width);
  // Of the text without wrapping; a short question gets a narrow bubble.
  int idealWidth() const;
  const MessageDocument& messageDocument() const { return *m_document; }

  void applyPalette();
  // After the theme changed: colours live inside the document, which is written anew.
  void refreshColors();

 signals:
  void codeCopied(const QString& code);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;

 private:
  struct CodeCard {
    QRectF frame;
    QRectF copyPlace;
    const CodeBlock* code;
  };
  // Cards that overlap `area`, in viewport coordinates.
  std::vector<CodeCard> cardsIn(const QRectF& area) const;
  const CodeBlock* copyPlaceAt(QPointF position) const;
  void copyCode(const CodeBlock& code);

  MessageDocument* m_document;
};

}  // namespace ui::views
