#include "engine/sched/request_queue.h"

#include <utility>

namespace engine::sched {

QueueKey queueKey(const Sequence& sequence, PolicyKind policy) {
  const auto keyOf = [&](std::int64_t rank) {
    return QueueKey{rank, sequence.rootArrival, sequence.arrivalOrder};
  };
  switch (policy) {
    case PolicyKind::Priority:
      return keyOf(sequence.spec.priority);
    case PolicyKind::Slo:
      return keyOf(sequence.queueRank);
    case PolicyKind::Fcfs:
      break;
  }
  return keyOf(0);
}

void RequestQueue::setPolicy(PolicyKind policy) {
  if (policy == m_policy) return;
  m_policy = policy;
  for (const auto& [key, sequence] : std::exchange(m_entries, {})) insert(*sequence);
}

}  // namespace engine::sched
