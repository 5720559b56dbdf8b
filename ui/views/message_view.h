// One message of the transcript: bubble or text, its figures as chips, and what can be done with it.
#pragma once

#include <QWidget>
#include <optional>

#include "ui/models/answer_streams.h"
#include "ui/models/chat_record.h"

class QLabel;
class QProgressBar;
class QToolButton;

namespace ui::views {

class ChipRow;
class MessageBody;
class MessageText;

struct BranchPlace {
  int index = 0;  // 0-based among `count` siblings
  int count = 1;
};

// Holds a laid-out document only while it is awake; asleep it keeps its height. Ui thread only.
class MessageView : public QWidget {
  Q_OBJECT

 public:
  explicit MessageView(const models::MessageRecord& message, QWidget* parent = nullptr);

  qint64 messageId() const { return m_message.id; }
  const models::MessageRecord& message() const { return m_message; }
  // New text, state and figures of the same message.
  void setMessage(const models::MessageRecord& message);
  void setBranch(BranchPlace place);
  // Null ends the streaming look.
  void setStream(const models::AnswerStream* stream);
  // Streaming text; cheap while asleep.
  void appendText(const QString& delta);

  void wake();
  void sleep();
  bool isAwake() const { return m_body != nullptr; }
  // Also lays out at that width when awake; an estimate before the first time.
  int heightFor(int width);
  // Null while asleep, or when there is no text yet.
  MessageText* text();
  MessageBody* body() { return m_body; }
  void refreshColors();

  // The chips of an answer with these figures.
  static QStringList chipsOf(const models::AnswerStats& stats, double liveRate);

 signals:
  void branchWanted(qint64 messageId, int offset);
  void regenerateWanted(qint64 messageId);
  void editWanted(qint64 messageId);
  void copyWanted(qint64 messageId);
  // The user has the result of a tool that this answer called.
  void toolResultWanted(qint64 messageId, const QString& toolName);
  void heightChanged(qint64 messageId);

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  // Typed by the user: questions, and results of tools.
  bool isUser() const { return m_message.role != models::MessageRole::Assistant; }
  void buildBody();
  void buildRow();
  void showState();
  void showNote();
  QToolButton* addButton(const QString& text, const QString& name);
  void place(int width);
  int textWidth(int width) const;
  int textHeight(int width);

  models::MessageRecord m_message;
  BranchPlace m_branch;
  bool m_isStreaming = false, m_isPrefilling = false, m_areThoughtsUnfolded = false;
  int m_heightWidth = -1, m_height = 0;
  QRect m_bubble;
  MessageBody* m_body = nullptr;
  QWidget* m_row = nullptr;
  ChipRow* m_chips = nullptr;
  QLabel* m_note = nullptr;
  QLabel* m_branchLabel = nullptr;
  QProgressBar* m_progress = nullptr;
  QToolButton *m_previous = nullptr, *m_next = nullptr, *m_again = nullptr, *m_edit = nullptr,
              *m_copy = nullptr;
};

}  // namespace ui::views
