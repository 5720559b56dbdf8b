// A chat's shown branch from top to bottom: follows the end while the reader is there, holds still when
// not, and keeps documents only for what is near the screen.
#pragma once

#include <QHash>
#include <QScrollArea>
#include <vector>

#include "ui/views/message_view.h"

class QPushButton;

namespace ui::views {

// Ui thread only.
class TranscriptView : public QScrollArea {
  Q_OBJECT

 public:
  explicit TranscriptView(QWidget* parent = nullptr);

  // Replaces all; what is the same message as before keeps its view and its place.
  void setMessages(const std::vector<models::MessageRecord>& messages, const std::vector<BranchPlace>& places);
  void appendText(qint64 messageId, const QString& delta);
  void setStream(qint64 messageId, const models::AnswerStream* stream);
  void updateMessage(const models::MessageRecord& message);
  MessageView* view(qint64 messageId) const { return m_byId.value(messageId); }
  int numAwake() const;

  bool isFollowing() const { return m_isFollowing; }
  void jumpToEnd();
  // After the theme changed: colours live inside the documents.
  void refreshColors();
  // Time the last appendText took with its layout, in ms.
  double lastFlushMs() const { return m_lastFlushMs; }

 signals:
  void branchWanted(qint64 messageId, int offset);
  void regenerateWanted(qint64 messageId);
  void editWanted(qint64 messageId);
  void toolResultWanted(qint64 messageId, const QString& toolName);

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;

 private:
  MessageView* makeView(const models::MessageRecord& message);
  void layOut(std::size_t from = 0);
  void wakeVisible();
  void onScrolled();
  void placePill();
  void copyMessage(qint64 messageId);
  std::size_t indexOf(qint64 messageId) const;
  int columnWidth() const;

  QWidget* m_column;
  QPushButton* m_pill;
  std::vector<MessageView*> m_views;
  QHash<qint64, MessageView*> m_byId;
  bool m_isFollowing = true, m_isLayingOut = false;
  double m_lastFlushMs = 0;
};

}  // namespace ui::views
