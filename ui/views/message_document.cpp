#include "ui/views/message_document.h"

#include <QLocale>
#include <QTextBlock>
#include <QTextCursor>
#include <QTextFrame>
#include <QTextList>
#include <QTextTable>

#include "ui/style/fonts.h"
#include "ui/views/code_highlighting.h"

namespace ui::views {

namespace {

constexpr int kTextPixels = 14;
constexpr int kCodePixels = 13;
constexpr int kLineHeightPercent = 135;
constexpr int kCodeTop = 32;  // room for the language label
constexpr int kCodeBottom = 18;
constexpr int kCodeSide = 14;
constexpr int kWholeRenderLimit = 64'000;

const auto kFeatures = QTextDocument::MarkdownFeatures(QTextDocument::MarkdownDialectGitHub) |
                       QTextDocument::MarkdownNoHTML;

QTextBlockFormat codeLineFormat(bool isFirst) {
  QTextBlockFormat format;
  format.setProperty(QTextFormat::BlockCodeFence, QStringLiteral("`"));
  format.setLeftMargin(kCodeSide);
  format.setRightMargin(kCodeSide);
  format.setTopMargin(isFirst ? kCodeTop : 0);
  format.setLineHeight(128, QTextBlockFormat::ProportionalHeight);
  return format;
}

// "3. text" -> 3; 0 when the Markdown does not begin with a numbered item.
int leadingNumber(const QString& markdown) {
  int n = 0;
  qsizetype i = 0;
  while (i < markdown.size() && markdown[i].isSpace()) ++i;
  for (; i < markdown.size() && markdown[i].isDigit() && n < 100'000'000; ++i) n = n * 10 + markdown[i].digitValue();
  return i < markdown.size() && (markdown[i] == QLatin1Char('.') || markdown[i] == QLatin1Char(')')) ? n : 0;
}

}  // namespace

MessageDocument::MessageDocument(QObject* parent)
    : QTextDocument(parent), m_palette(&style::Palette::light()) {
  setUndoRedoEnabled(false);
  setDocumentMargin(0);
  setDefaultFont(style::textFont(kTextPixels));
}

QVariant MessageDocument::loadResource(int, const QUrl&) { return {}; }

void MessageDocument::setColors(const style::Palette& palette) { m_palette = &palette; }

void MessageDocument::setMessage(const QString& text, bool isMarkdown) {
  clear();
  m_feed = MarkdownFeed();
  m_codeBlocks.clear();
  m_source = text;
  m_tailStart = 0;
  setTopMargin(0);
  m_wantsMarkdown = isMarkdown;
  m_isGrowing = false;
  m_isMarkdown = isMarkdown && text.size() <= kLongestRendered;
  if (m_isMarkdown) {
    m_feed.append(text);
    m_feed.finish();
    renderNew();
    return;
  }
  QString shown = text.left(kLongestRendered);
  shown.replace(QChar(0), QChar(0x2400));  // a document ends at NUL; the symbol shows that it is there
  if (text.size() > kLongestRendered) {
    shown += tr("\n… %1 more characters are not shown; copying takes them all.")
                 .arg(QLocale().toString(text.size() - kLongestRendered));
  }
  setPlainText(shown);
  QTextCursor cursor(this);
  cursor.select(QTextCursor::Document);
  QTextBlockFormat format;
  format.setLineHeight(kLineHeightPercent, QTextBlockFormat::ProportionalHeight);
  cursor.mergeBlockFormat(format);
}

void MessageDocument::appendMessage(const QString& delta) {
  m_isGrowing = true;
  m_source += delta;
  m_feed.append(delta);
  renderNew();
}

void MessageDocument::finishMessage() {
  m_isGrowing = false;
  if (m_feed.wasCut() && m_source.size() <= kWholeRenderLimit) {
    // cut paragraphs are joined again
    const QString whole = m_source;
    clear();
    m_codeBlocks.clear();
    m_tailStart = 0;
    insertProse(whole, false);
    m_tailStart = characterCount() - 1;
    return;
  }
  m_feed.finish();
  renderNew();
}

void MessageDocument::setMonospace() {
  m_isMonospace = true;
  setDefaultFont(style::monoFont(kCodePixels - 1));
}

void MessageDocument::writeAnew() {
  setDefaultFont(m_isMonospace ? style::monoFont(kCodePixels - 1) : style::textFont(kTextPixels));
  const QString text = m_source;
  if (!m_isGrowing) {
    setMessage(text, m_wantsMarkdown);
    return;
  }
  setMessage({}, true);
  appendMessage(text);
}

void MessageDocument::renderNew() {
  QTextCursor edit(this);
  edit.beginEditBlock();
  removeTail();
  for (const MarkdownPiece& piece : m_feed.takeFinal()) insertPiece(piece);
  m_tailStart = characterCount() - 1;
  const QString tail = m_feed.tail();
  if (m_feed.isInCode()) {
    if (!tail.isEmpty()) insertCodeLine(tail);
  } else if (!tail.trimmed().isEmpty()) {
    insertProse(tail, false);
  }
  edit.endEditBlock();
}

void MessageDocument::removeTail() {
  QTextCursor cursor(this);
  cursor.setPosition(m_tailStart);
  cursor.movePosition(QTextCursor::End, QTextCursor::KeepAnchor);
  if (!cursor.hasSelection()) return;
  cursor.removeSelectedText();
  if (m_tailStart == 0) {
    cursor.setBlockFormat(QTextBlockFormat());
    cursor.setBlockCharFormat(QTextCharFormat());
  }
  const int last = blockCount() - 1;
  if (!m_codeBlocks.empty() && m_codeBlocks.back().lastBlock > last) m_codeBlocks.back().lastBlock = last;
}

void MessageDocument::insertPiece(const MarkdownPiece& piece) {
  switch (piece.kind) {
    case MarkdownPiece::Kind::Prose: insertProse(piece.text, false); break;
    case MarkdownPiece::Kind::ProseCut: insertProse(piece.text, true); break;
    case MarkdownPiece::Kind::CodeBegin: {
      CodeBlock code;
      code.firstBlock = -1;
      code.language = piece.text;
      m_codeBlocks.push_back(code);
      break;
    }
    case MarkdownPiece::Kind::CodeLine: insertCodeLine(piece.text); break;
    case MarkdownPiece::Kind::CodeEnd: endCode(); break;
  }
}

// The cursor of the next insertion stands in a fresh block afterwards (the first one may be reused).
void MessageDocument::beginBlock() {
  QTextCursor cursor(this);
  cursor.movePosition(QTextCursor::End);
  if (characterCount() > 1) cursor.insertBlock(QTextBlockFormat(), QTextCharFormat());
}

void MessageDocument::insertProse(const QString& markdown, bool isCut) {
  beginBlock();
  QTextCursor cursor(this);
  cursor.movePosition(QTextCursor::End);
  const int firstBlock = cursor.blockNumber();
  QString clean = markdown;
  clean.replace(QChar(0), QChar(0x2400));
  cursor.insertMarkdown(clean, kFeatures);
  // a list begins in a block of its own and leaves the one it was inserted into empty
  if (const QTextBlock first = findBlockByNumber(firstBlock);
      first.length() == 1 && first.next().isValid() && first.next().textList()) {
    QTextCursor empty(first);
    empty.deleteChar();
  }
  styleBlocks(firstBlock, isCut);
  continueList(firstBlock, markdown);
}

void MessageDocument::styleBlocks(int firstBlock, bool isCut) {
  for (QTextBlock block = findBlockByNumber(firstBlock); block.isValid(); block = block.next()) {
    QTextCursor cursor(block);
    QTextBlockFormat format = block.blockFormat();
    const bool isItem = block.textList() != nullptr;
    format.setLineHeight(kLineHeightPercent, QTextBlockFormat::ProportionalHeight);
    format.setTopMargin(block.blockNumber() == 0 ? 0 : format.headingLevel() > 0 ? 10 : isItem ? 1 : 4);
    format.setBottomMargin(isCut ? 0 : isItem ? 1 : 5);
    cursor.setBlockFormat(format);
    styleCodeSpans(block);
  }
}

void MessageDocument::styleCodeSpans(const QTextBlock& block) {
  std::vector<std::pair<int, int>> spans;  // collected first: formatting changes the fragments
  for (auto it = block.begin(); !it.atEnd(); ++it) {
    const QTextFragment fragment = it.fragment();
    if (fragment.charFormat().fontFixedPitch()) spans.emplace_back(fragment.position(), fragment.length());
  }
  QTextCharFormat code;
  code.setFont(style::monoFont(kCodePixels));
  code.setBackground(m_palette->color(style::Role::CodeBackground));
  for (const auto& [from, length] : spans) {
    QTextCursor cursor(this);
    cursor.setPosition(from);
    cursor.setPosition(from + length, QTextCursor::KeepAnchor);
    cursor.mergeCharFormat(code);
  }
}

// Qt numbers every list from one: a list that goes on in a new piece joins the one before it.
void MessageDocument::continueList(int firstBlock, const QString& markdown) {
  if (leadingNumber(markdown) <= 1 || firstBlock == 0) return;
  QTextBlock first = findBlockByNumber(firstBlock);
  QTextList* list = first.textList();
  if (!list) return;
  for (QTextBlock before = first.previous(); before.isValid(); before = before.previous()) {
    QTextList* earlier = before.textList();
    if (!earlier || earlier == list || earlier->format().style() != list->format().style() ||
        earlier->format().indent() != list->format().indent()) {
      continue;
    }
    std::vector<QTextBlock> items;
    for (int i = 0; i < list->count(); ++i) items.push_back(list->item(i));
    for (const QTextBlock& item : items) earlier->add(item);
    return;
  }
}

void MessageDocument::insertCodeLine(const QString& text) {
  CodeBlock& code = m_codeBlocks.back();
  const bool isFirst = code.firstBlock < 0 || code.firstBlock >= blockCount() || characterCount() == 1;
  QTextCursor cursor(this);
  cursor.movePosition(QTextCursor::End);
  QTextCharFormat mono;
  mono.setFont(style::monoFont(kCodePixels));
  if (characterCount() > 1) {
    cursor.insertBlock(codeLineFormat(isFirst), mono);
  } else {
    cursor.setBlockFormat(codeLineFormat(isFirst));
    cursor.setBlockCharFormat(mono);
  }
  QString clean = text;
  clean.replace(QChar(0), QChar(0x2400));
  cursor.insertText(clean, mono);
  if (isFirst) code.firstBlock = cursor.blockNumber();
  code.lastBlock = cursor.blockNumber();
  if (code.firstBlock == 0) setTopMargin(kCodeTop);
}

// Qt ignores the top margin of a document's first block; the frame around it has one too.
void MessageDocument::setTopMargin(int pixels) {
  QTextFrameFormat format = rootFrame()->frameFormat();
  if (format.topMargin() == pixels) return;
  format.setTopMargin(pixels);
  rootFrame()->setFrameFormat(format);
}

bool MessageDocument::endsInCode() const {
  return !m_codeBlocks.empty() && m_codeBlocks.back().lastBlock == blockCount() - 1;
}

void MessageDocument::endCode() {
  if (m_codeBlocks.back().firstBlock < 0) insertCodeLine({});
  CodeBlock& code = m_codeBlocks.back();
  code.isClosed = true;
  QTextCursor cursor(findBlockByNumber(code.lastBlock));
  QTextBlockFormat format = cursor.blockFormat();
  format.setBottomMargin(kCodeBottom);
  cursor.setBlockFormat(format);
  CodeState state = CodeState::Plain;
  for (QTextBlock block = findBlockByNumber(code.firstBlock);
       block.isValid() && block.blockNumber() <= code.lastBlock; block = block.next()) {
    block.layout()->setFormats(highlightLine(block.text(), code.language, *m_palette, state));
  }
}

QString MessageDocument::codeText(const CodeBlock& code) const {
  QStringList lines;
  for (QTextBlock block = findBlockByNumber(code.firstBlock);
       block.isValid() && block.blockNumber() <= code.lastBlock; block = block.next()) {
    lines << block.text();
  }
  return lines.join(QLatin1Char('\n'));
}

}  // namespace ui::views
