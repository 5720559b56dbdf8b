#include "ui/models/chat_tree.h"

#include <algorithm>
#include <utility>

namespace ui::models {

ChatTree::ChatTree(std::vector<MessageRecord> messages) {
  for (auto& message : messages) add(std::move(message));
}

const MessageRecord* ChatTree::find(qint64 id) const {
  const auto found = m_messages.find(id);
  return found == m_messages.end() ? nullptr : &found->second;
}

MessageRecord* ChatTree::find(qint64 id) {
  const auto found = m_messages.find(id);
  return found == m_messages.end() ? nullptr : &found->second;
}

void ChatTree::add(MessageRecord message) {
  auto& siblings = m_children[message.parentId];
  siblings.insert(std::upper_bound(siblings.begin(), siblings.end(), message.id), message.id);
  const qint64 id = message.id;
  m_messages.insert_or_assign(id, std::move(message));
}

std::vector<qint64> ChatTree::path(qint64 leafId) const {
  std::vector<qint64> out;
  for (const MessageRecord* m = find(leafId); m; m = find(m->parentId)) {
    out.push_back(m->id);
    if (m->parentId >= m->id) break;  // a parent is always older
  }
  std::reverse(out.begin(), out.end());
  return out;
}

const std::vector<qint64>& ChatTree::siblings(qint64 id) const {
  static const std::vector<qint64> kNone;
  const MessageRecord* message = find(id);
  if (!message) return kNone;
  const auto found = m_children.find(message->parentId);
  return found == m_children.end() ? kNone : found->second;
}

qint64 ChatTree::latestLeaf(qint64 id) const {
  for (;;) {
    const auto found = m_children.find(id);
    if (found == m_children.end() || found->second.empty()) return id;
    const qint64 next = found->second.back();
    if (next <= id) return id;
    id = next;
  }
}

int ChatTree::numLeaves() const {
  return static_cast<int>(std::count_if(m_messages.begin(), m_messages.end(), [this](const auto& entry) {
    return m_children.find(entry.first) == m_children.end();
  }));
}

}  // namespace ui::models
