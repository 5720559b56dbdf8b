#include "engine/sched/request_queue.h"

#include <utility>

namespace engine::sched {

QueueKey queueKey(const Sequence& sequence, PolicyKind policy) {
  const bool byPriority = policy == PolicyKind::Priority;
  return {byPriority ? sequence.spec.priority : 0, sequence.rootArrival,
          sequence.arrivalOrder};
}

void RequestQueue::setPolicy(PolicyKind policy) {
  if (policy == m_policy) return;
  m_policy = policy;
  for (const auto& [key, sequence] : std::exchange(m_entries, {})) insert(*sequence);
}

}  // namespace engine::sched
