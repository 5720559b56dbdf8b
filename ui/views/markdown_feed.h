// Streaming Markdown cut into pieces that are final and a short tail that may still change its meaning.
#pragma once

#include <QString>
#include <vector>

namespace ui::views {

struct MarkdownPiece {
  enum class Kind {
    Prose,      // whole paragraphs, lists, tables: `text` is Markdown
    ProseCut,   // as Prose, but cut inside a very long paragraph
    CodeBegin,  // `text` is the language, may be empty
    CodeLine,   // one line without its newline
    CodeEnd,
  };
  Kind kind;
  QString text;
};

// Pure text; every character is looked at once.
class MarkdownFeed {
 public:
  // A paragraph is cut when it is longer: laying out one block costs its whole length.
  static constexpr int kLongestParagraph = 3000;
  // A list is continued in a new piece when it is longer.
  static constexpr int kLongestList = 1500;

  void append(const QString& text);
  // No more text comes: everything becomes final.
  void finish();

  // Pieces that became final since the last call.
  std::vector<MarkdownPiece> takeFinal();
  // What is not final: Markdown, or the unfinished line inside an open code fence.
  QString tail() const;
  bool isInCode() const { return m_isInCode; }
  bool wasCut() const { return m_wasCut; }

 private:
  void takeLine(const QString& line);
  void takeProseLine(const QString& line);
  void freeze(MarkdownPiece::Kind kind = MarkdownPiece::Kind::Prose);
  bool canFreezeBefore(const QString& line) const;
  void cutLongParagraph();

  std::vector<MarkdownPiece> m_final;
  QString m_pending;  // complete prose lines that are not final
  QString m_line;     // the line that is being written
  QString m_fence;    // what closes the code block
  int m_fenceIndent = 0;
  bool m_isInCode = false, m_hasList = false, m_hasBlank = false, m_wasCut = false;
};

}  // namespace ui::views
