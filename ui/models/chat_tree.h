// One chat's messages as a tree: branches come from editing a question or asking for another answer.
#pragma once

#include <unordered_map>
#include <vector>

#include "ui/models/chat_record.h"

namespace ui::models {

// Plain value. Message ids grow with time, so the latest child has the largest id.
class ChatTree {
 public:
  ChatTree() = default;
  explicit ChatTree(std::vector<MessageRecord> messages);

  bool isEmpty() const { return m_messages.empty(); }
  std::size_t size() const { return m_messages.size(); }
  // Null when there is none with this id.
  const MessageRecord* find(qint64 id) const;
  MessageRecord* find(qint64 id);
  void add(MessageRecord message);

  // From the first message to `leafId`; empty for 0. Broken parents end the path, never loop.
  std::vector<qint64> path(qint64 leafId) const;
  // All messages with the same parent, oldest first, `id` among them.
  const std::vector<qint64>& siblings(qint64 id) const;
  // Follows the latest child down from `id`.
  qint64 latestLeaf(qint64 id) const;
  int numLeaves() const;

 private:
  std::unordered_map<qint64, MessageRecord> m_messages;
  std::unordered_map<qint64, std::vector<qint64>> m_children;  // by parent id
};

}  // namespace ui::models
