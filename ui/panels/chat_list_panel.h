// The sidebar: search, new chat, and the list of chats.
#pragma once

#include <QFrame>

#include "ui/models/chat_list_model.h"

class QLineEdit;
class QListView;
class QPushButton;

namespace ui::panels {

// Ui thread only.
class ChatListPanel : public QFrame {
  Q_OBJECT

 public:
  // `conversations` must outlive the panel.
  explicit ChatListPanel(models::Conversations& conversations, QWidget* parent = nullptr);

  qint64 currentChat() const { return m_current; }
  void setCurrentChat(qint64 chatId);
  void focusSearch();

 public slots:
  void newChat();
  void renameCurrent();
  void deleteCurrent();
  void undoDelete();

 signals:
  void chatSelected(qint64 chatId);

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void fitText();
  void buildWidgets();
  void layOutWidgets();
  void connectWidgets();
  void syncSelection();
  void showMenu(const QPoint& at);

  models::Conversations& m_conversations;
  models::ChatListModel m_model;
  QLineEdit* m_search;
  QPushButton* m_new;
  QListView* m_list;
  QFrame* m_undoBar;
  QPushButton* m_undo;
  qint64 m_current = 0;
  bool m_isSyncing = false;
};

}  // namespace ui::panels
