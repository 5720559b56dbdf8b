// The requests that wait, in the order in which they may enter.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>

#include "engine/api/engine_config.h"
#include "engine/sched/sequence.h"

namespace engine::sched {

// First come, first served, or lower priority number first and then by arrival, or who must begin
// first to keep its SLO. A preempted request keeps its arrival and so stands before all of its rank
// that came after it. Branches of one request stand together in their rank.
struct QueueKey {
  std::int64_t rank = 0;
  std::uint64_t arrival = 0, branch = 0;

  friend auto operator<=>(const QueueKey&, const QueueKey&) = default;
};

QueueKey queueKey(const Sequence& sequence, PolicyKind policy);

// Engine thread only. Insertion, removal: O(log n).
class RequestQueue {
 public:
  explicit RequestQueue(PolicyKind policy) : m_policy(policy) {}

  void setPolicy(PolicyKind policy);  // reorders

  void insert(Sequence& sequence) { m_entries.emplace(queueKey(sequence, m_policy), &sequence); }

  void erase(const Sequence& sequence) { m_entries.erase(queueKey(sequence, m_policy)); }

  std::size_t size() const { return m_entries.size(); }

  Sequence* front() const { return m_entries.empty() ? nullptr : m_entries.begin()->second; }

  const std::map<QueueKey, Sequence*>& entries() const { return m_entries; }

 private:
  PolicyKind m_policy;
  std::map<QueueKey, Sequence*> m_entries;
};

}  // namespace engine::sched
