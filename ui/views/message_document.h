// One message as a rich text document that grows while it is being written: finished parts are laid
// out once, only the tail is rendered again.
#pragma once

#include <QString>
#include <QTextBlock>
#include <QTextDocument>
#include <vector>

#include "ui/style/palette.h"
#include "ui/views/markdown_feed.h"

namespace ui::views {

struct CodeBlock {
  int firstBlock = 0, lastBlock = 0;  // block numbers in the document
  QString language;
  bool isClosed = false;
};

// Ui thread only. HTML in the text stays text; nothing is ever fetched.
class MessageDocument : public QTextDocument {
  Q_OBJECT

 public:
  // Longer texts are shown plain and cut; the whole is still copied and sent.
  static constexpr int kLongestRendered = 60'000;

  explicit MessageDocument(QObject* parent = nullptr);

  void setColors(const style::Palette& palette);
  // For plain texts that are data.
  void setMonospace();
  // A complete message, Markdown or plain.
  void setMessage(const QString& text, bool isMarkdown);
  // More of a message that is being written.
  void appendMessage(const QString& delta);
  void finishMessage();
  // The same text again, with the colours and fonts of now.
  void writeAnew();

  const std::vector<CodeBlock>& codeBlocks() const { return m_codeBlocks; }
  QString codeText(const CodeBlock& code) const;
  bool endsInCode() const;

 protected:
  QVariant loadResource(int type, const QUrl& name) override;

 private:
  void renderNew();
  void insertPiece(const MarkdownPiece& piece);
  void insertProse(const QString& markdown, bool isCut);
  void insertCodeLine(const QString& text);
  void endCode();
  void setTopMargin(int pixels);
  void styleBlocks(int firstBlock, bool isCut);
  void styleCodeSpans(const QTextBlock& block);
  void continueList(int firstBlock, const QString& markdown);
  void removeTail();
  void beginBlock();

  const style::Palette* m_palette;
  MarkdownFeed m_feed;
  QString m_source;
  std::vector<CodeBlock> m_codeBlocks;
  int m_tailStart = 0;  // document position where the tail begins
  bool m_isMarkdown = true, m_wantsMarkdown = true, m_isGrowing = false, m_isMonospace = false;
};

}  // namespace ui::views
