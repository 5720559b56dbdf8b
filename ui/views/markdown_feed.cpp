#include "ui/views/markdown_feed.h"

#include <utility>

namespace ui::views {

namespace {

int indentOf(const QString& line) {
  int n = 0;
  while (n < line.size() && (line[n] == QLatin1Char(' ') || line[n] == QLatin1Char('\t'))) ++n;
  return n;
}

// Length of a run of ``` or ~~~ at `from`, 0 when shorter than three.
int fenceLength(const QString& line, int from) {
  if (from >= line.size()) return 0;
  const QChar mark = line[from];
  if (mark != QLatin1Char('`') && mark != QLatin1Char('~')) return 0;
  int n = from;
  while (n < line.size() && line[n] == mark) ++n;
  return n - from >= 3 ? n - from : 0;
}

bool isListItem(const QString& line, int from) {
  int n = from;
  while (n < line.size() && line[n].isDigit()) ++n;
  if (n > from) {
    return n - from <= 9 && n + 1 < line.size() &&
           (line[n] == QLatin1Char('.') || line[n] == QLatin1Char(')')) && line[n + 1] == QLatin1Char(' ');
  }
  return from + 1 < line.size() && line[from + 1] == QLatin1Char(' ') &&
         (line[from] == QLatin1Char('-') || line[from] == QLatin1Char('*') || line[from] == QLatin1Char('+'));
}

bool isBlank(const QString& line) { return indentOf(line) == line.size(); }

}  // namespace

void MarkdownFeed::append(const QString& text) {
  qsizetype from = 0;
  for (;;) {
    const qsizetype end = text.indexOf(QLatin1Char('\n'), from);
    if (end < 0) break;
    m_line += QStringView(text).mid(from, end - from);
    takeLine(std::exchange(m_line, QString()));
    from = end + 1;
  }
  m_line += QStringView(text).mid(from);
  // an unfinished line can already show that what stood before it is over
  if (!m_isInCode && m_hasBlank && m_line.size() >= 6 && canFreezeBefore(m_line)) freeze();
  if (!m_isInCode) cutLongParagraph();
}

void MarkdownFeed::takeLine(const QString& line) {
  if (!m_isInCode) {
    takeProseLine(line);
    return;
  }
  const int indent = indentOf(line);
  const int length = fenceLength(line, indent);
  if (length >= m_fence.size() && line[indent] == m_fence[0] && isBlank(line.mid(indent + length))) {
    m_final.push_back({MarkdownPiece::Kind::CodeEnd, {}});
    m_isInCode = false;
    return;
  }
  m_final.push_back({MarkdownPiece::Kind::CodeLine, line.mid(std::min(indent, m_fenceIndent))});
}

void MarkdownFeed::takeProseLine(const QString& line) {
  const int indent = indentOf(line);
  if (const int length = fenceLength(line, indent); length > 0) {
    freeze();
    m_fence = line.mid(indent, length);
    m_fenceIndent = indent;
    m_isInCode = true;
    m_final.push_back({MarkdownPiece::Kind::CodeBegin, line.mid(indent + length).trimmed().section(QLatin1Char(' '), 0, 0)});
    return;
  }
  if (isBlank(line)) {
    m_pending += QLatin1Char('\n');
    m_hasBlank = true;
    return;
  }
  if (m_hasBlank && canFreezeBefore(line)) freeze();
  m_hasBlank = false;
  m_hasList = m_hasList || isListItem(line, indent);
  m_pending += line + QLatin1Char('\n');
}

bool MarkdownFeed::canFreezeBefore(const QString& line) const {
  if (!m_hasList) return true;
  const bool isOuterItem = isListItem(line, 0);
  if (isOuterItem) return m_pending.size() > kLongestList;
  return indentOf(line) == 0;
}

void MarkdownFeed::freeze(MarkdownPiece::Kind kind) {
  if (!isBlank(m_pending.simplified())) m_final.push_back({kind, m_pending});
  m_pending.clear();
  m_hasList = m_hasBlank = false;
}

void MarkdownFeed::cutLongParagraph() {
  if (m_pending.size() + m_line.size() <= kLongestParagraph || m_hasList) return;
  const QString whole = m_pending + m_line;
  qsizetype cut = whole.lastIndexOf(QLatin1String(". "), kLongestParagraph - 1);
  if (cut < kLongestParagraph / 2) cut = whole.lastIndexOf(QLatin1Char(' '), kLongestParagraph - 1);
  if (cut < kLongestParagraph / 2) cut = kLongestParagraph - 2;
  if (whole[cut].isHighSurrogate()) --cut;
  m_pending = whole.left(cut + 1);
  m_line = whole.mid(cut + 1);
  m_wasCut = true;
  freeze(MarkdownPiece::Kind::ProseCut);
  if (const qsizetype lastBreak = m_line.lastIndexOf(QLatin1Char('\n')); lastBreak >= 0) {
    m_pending = m_line.left(lastBreak + 1);
    m_line = m_line.mid(lastBreak + 1);
  }
}

void MarkdownFeed::finish() {
  if (m_isInCode) {
    if (!m_line.isEmpty()) takeLine(std::exchange(m_line, QString()));
    if (m_isInCode) m_final.push_back({MarkdownPiece::Kind::CodeEnd, {}});
    m_isInCode = false;
    return;
  }
  if (!m_line.isEmpty()) takeLine(std::exchange(m_line, QString()));
  if (m_isInCode) {  // the last line opened a fence that holds nothing
    m_final.push_back({MarkdownPiece::Kind::CodeEnd, {}});
    m_isInCode = false;
  }
  freeze();
}

std::vector<MarkdownPiece> MarkdownFeed::takeFinal() { return std::exchange(m_final, {}); }

QString MarkdownFeed::tail() const {
  if (m_isInCode) return m_line;
  // a fence that is just being typed would flash up as an empty code block
  const int indent = indentOf(m_line);
  if (indent < m_line.size() && fenceLength(m_line, indent) > 0) return m_pending;
  return m_pending + m_line;
}

}  // namespace ui::views
