// An answer cut into what it is made of: text, thinking that is folded away, calls of tools.
#pragma once

#include <QString>
#include <optional>
#include <utility>
#include <vector>

namespace ui::models {

enum class PartKind { Text, Thinking, ToolCall };

struct AnswerPart {
  PartKind kind = PartKind::Text;
  QString text;           // without its tags
  bool isClosed = false;  // nothing is added any more
};

// Takes the answer as it comes; every character is looked at once. Tags count at the beginning of a
// line outside code fences; <think> only where nothing was said before it. An answer whose template
// opened the thinking has </think> alone: all before it becomes thinking. Pure text.
class AnswerSplitter {
 public:
  void append(const QString& delta);
  // No more text comes: what could still have become a tag is text.
  void finish();

  const std::vector<AnswerPart>& parts() const { return m_parts; }
  // Grows when a part turned into another kind after the fact.
  int revision() const { return m_revision; }

 private:
  enum class Fence { None, Backticks, Tildes };

  bool step(bool isLast);
  bool stepText(bool isLast);
  bool stepInside(const QString& closingTag, bool isLast);
  bool takeTag(const QString& tag, qsizetype place);
  void open(PartKind kind);
  void add(const QString& text);
  bool hasSaidNothing() const;

  std::vector<AnswerPart> m_parts;
  QString m_hold;  // not decided yet
  Fence m_fence = Fence::None;
  bool m_isLineStart = true, m_skipsNewlines = false;
  int m_revision = 0;
};

std::vector<AnswerPart> partsOf(const QString& answer);

// A call as the model wrote it.
struct ToolCall {
  QString name;
  std::vector<std::pair<QString, QString>> arguments;  // in the model's order; strings bare, all else JSON
};

// From {"name", "arguments" or "parameters"}; none when it is not that.
std::optional<ToolCall> toolCallFrom(const QString& json);

}  // namespace ui::models
