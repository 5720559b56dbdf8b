// The inside of one message: a question as it was typed, or an answer with its text, folded thinking
// and tool calls below one another.
#pragma once

#include <QWidget>
#include <vector>

#include "ui/models/answer_parts.h"

namespace ui::views {

class MessageText;
class ThoughtFold;
class ToolCallCard;

enum class BodyKind { Plain, Answer };

// Laid out by heightFor(); the parent places it. Ui thread only.
class MessageBody : public QWidget {
  Q_OBJECT

 public:
  explicit MessageBody(BodyKind kind, QWidget* parent = nullptr);

  // A whole text, or the beginning of one that is being written.
  void setMessage(const QString& text, bool isStreaming);
  void append(const QString& delta);
  void finish();

  int heightFor(int width);
  // Of a plain text without wrapping.
  int idealWidth() const;
  // The first text of the message; an empty one when there is none yet.
  MessageText* text();
  const std::vector<ThoughtFold*>& thoughts() const { return m_thoughts; }
  const std::vector<ToolCallCard*>& calls() const { return m_calls; }
  // Whether the user holds something in it: a selection or the keyboard.
  bool isInUse() const;
  void setThoughtsUnfolded(bool unfolded);
  void refreshColors();

 signals:
  // What is shown became higher or lower by a click.
  void heightChanged();
  void thoughtsUnfolded(bool unfolded);
  void resultWanted(const QString& toolName);

 private:
  struct PartView {
    models::PartKind kind = models::PartKind::Text;
    qsizetype numShown = 0;  // characters of the part that the widget has
    bool isClosed = false;
    MessageText* text = nullptr;
    ThoughtFold* thought = nullptr;
    ToolCallCard* call = nullptr;
    QWidget* widget() const;
  };

  void showParts();
  void showPart(PartView& view, const models::AnswerPart& part);
  PartView makeView(models::PartKind kind);
  void clearViews();

  BodyKind m_kind;
  models::AnswerSplitter m_splitter;
  int m_revision = 0;
  bool m_isStreaming = false, m_areThoughtsUnfolded = false;
  std::vector<PartView> m_views;
  std::vector<ThoughtFold*> m_thoughts;
  std::vector<ToolCallCard*> m_calls;
};

}  // namespace ui::views
