#include "ui/models/chat_list_model.h"

#include <QDateTime>
#include <algorithm>

#include "ui/style/format.h"

namespace ui::models {

ChatListModel::ChatListModel(Conversations& conversations, QObject* parent)
    : QAbstractListModel(parent), m_conversations(conversations) {
  reload();
  connect(&conversations, &Conversations::chatsChanged, this, &ChatListModel::reload);
  const auto refresh = [this](qint64 chatId) {
    const int row = rowOf(chatId);
    if (row >= 0) emit dataChanged(index(row), index(row), {DetailRole, IsWritingRole, Qt::AccessibleTextRole});
  };
  connect(&conversations, &Conversations::answerChanged, this, refresh);
  connect(&conversations, &Conversations::answerFinished, this, refresh);
}

void ChatListModel::setSearch(const QString& search) {
  if (search == m_search) return;
  m_search = search;
  reload();
}

void ChatListModel::reload() {
  std::vector<qint64> ids = m_conversations.search(m_search);
  if (ids == m_ids) {
    if (!m_ids.empty()) emit dataChanged(index(0), index(int(m_ids.size()) - 1));
    return;
  }
  beginResetModel();
  m_ids = std::move(ids);
  endResetModel();
}

qint64 ChatListModel::chatIdAt(int row) const {
  return row >= 0 && row < int(m_ids.size()) ? m_ids[std::size_t(row)] : 0;
}

int ChatListModel::rowOf(qint64 chatId) const {
  const auto found = std::find(m_ids.begin(), m_ids.end(), chatId);
  return found == m_ids.end() ? -1 : int(found - m_ids.begin());
}

int ChatListModel::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : int(m_ids.size()); }

QString ChatListModel::detailOf(const ChatRecord& chat) const {
  if (const AnswerStream* stream = m_conversations.stream(chat.id)) {
    switch (stream->phase) {
      case AnswerPhase::WaitsForModel: return tr("waits for the model");
      case AnswerPhase::Queued: return tr("queued");
      case AnswerPhase::Prefilling: return tr("reading the prompt");
      case AnswerPhase::Stopping: return tr("stopping");
      case AnswerPhase::Decoding: break;
    }
    return stream->tokensPerSecond > 0
               ? tr("writing now · %1").arg(style::formatTokensPerSecond(stream->tokensPerSecond))
               : tr("writing now");
  }
  QString detail = style::formatWhen(chat.updatedMs, QDateTime::currentMSecsSinceEpoch());
  if (chat.numBranches > 1) detail += tr(" · %n branch(es)", nullptr, chat.numBranches);
  else if (chat.numMessages > 0) detail += tr(" · %n message(s)", nullptr, chat.numMessages);
  return detail;
}

QVariant ChatListModel::data(const QModelIndex& index, int role) const {
  const ChatRecord* chat = m_conversations.chat(chatIdAt(index.row()));
  if (!chat) return {};
  switch (role) {
    case Qt::DisplayRole: case Qt::EditRole: case Qt::ToolTipRole: return chat->title;
    case Qt::AccessibleTextRole: return QStringLiteral("%1, %2").arg(chat->title, detailOf(*chat));
    case IdRole: return chat->id;
    case DetailRole: return detailOf(*chat);
    case IsWritingRole: return m_conversations.stream(chat->id) != nullptr;
    default: return {};
  }
}

bool ChatListModel::setData(const QModelIndex& index, const QVariant& value, int role) {
  const qint64 id = chatIdAt(index.row());
  if (role != Qt::EditRole || id == 0 || value.toString().trimmed().isEmpty()) return false;
  m_conversations.renameChat(id, value.toString());
  return true;
}

Qt::ItemFlags ChatListModel::flags(const QModelIndex& index) const {
  return index.isValid() ? Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemIsEditable : Qt::NoItemFlags;
}

}  // namespace ui::models
