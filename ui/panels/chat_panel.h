// The conversation: transcript and composer of the current chat, wired to the conversations model.
#pragma once

#include <QTimer>
#include <QWidget>

#include "ui/models/conversations.h"

class QLabel;

namespace ui::views {
class TranscriptView;
}

namespace ui::panels {

class Composer;
class FirstRunPage;

// Ui thread only.
class ChatPanel : public QWidget {
  Q_OBJECT

 public:
  // Both must outlive the panel.
  ChatPanel(models::Conversations& conversations, bridge::EngineBridge& bridge, QWidget* parent = nullptr);

  qint64 chatId() const { return m_chatId; }
  void showChat(qint64 chatId);
  // In the Teach perspective the panel is a narrow column.
  void setCompact(bool compact);
  void focusComposer();
  void refreshColors();

  views::TranscriptView& transcript() { return *m_transcript; }
  Composer& composer() { return *m_composer; }
  // Shown in an empty chat while no model is open.
  FirstRunPage& firstRun() { return *m_firstRun; }
  // The answer whose figures are shown: the one being written, else the last of the branch. 0 = none.
  qint64 shownAnswer();

 public slots:
  void send();
  void stop();
  void regenerateLast();
  void editSettings();
  void editSystemPrompt();

 signals:
  void figuresChanged();
  void openModelWanted();

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void buildWidgets();
  void layOutWidgets();
  void connectWidgets();
  void reloadPath();
  void showStream();
  void connectConversations();
  void beginEdit(qint64 messageId);
  void beginToolResult(qint64 answerId, const QString& toolName);
  void typeAt(qint64 messageId, const QString& hint, const QString& text);
  void endEdit();
  void takeUpPendingEdit();
  void setComposerText(const QString& text);
  void showSettings(bool focusSystemPrompt);
  void report(const QString& sentence);
  void countTokens();
  void onFrame(const bridge::Frame& frame);
  void showEmptyState();

  models::Conversations& m_conversations;
  bridge::EngineBridge& m_bridge;
  views::TranscriptView* m_transcript;
  Composer* m_composer;
  QLabel* m_empty;
  FirstRunPage* m_firstRun;
  QTimer m_countTimer;
  qint64 m_chatId = 0;
  qint64 m_typedAt = 0;  // the message whose edit or tool result is being typed; 0 = a new message
  qint64 m_conversationTokens = -1, m_draftTokens = 0;
  int m_countsInFlight = 0;
  bool m_isRecountWanted = false, m_isLoadingText = false;
};

}  // namespace ui::panels
