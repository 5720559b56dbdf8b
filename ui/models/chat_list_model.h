// The list of chats as rows: title, and below it what the chat is doing or when it was last used.
#pragma once

#include <QAbstractListModel>
#include <vector>

#include "ui/models/conversations.h"

namespace ui::models {

class ChatListModel : public QAbstractListModel {
  Q_OBJECT

 public:
  enum Column : int { IdRole = Qt::UserRole, DetailRole, IsWritingRole };

  // `conversations` must outlive the model.
  explicit ChatListModel(Conversations& conversations, QObject* parent = nullptr);

  void setSearch(const QString& search);
  qint64 chatIdAt(int row) const;
  int rowOf(qint64 chatId) const;  // -1 when the search hides it

  int rowCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  bool setData(const QModelIndex& index, const QVariant& value, int role) override;
  Qt::ItemFlags flags(const QModelIndex& index) const override;

 private:
  void reload();
  QString detailOf(const ChatRecord& chat) const;

  Conversations& m_conversations;
  QString m_search;
  std::vector<qint64> m_ids;
};

}  // namespace ui::models
