#include "ui/models/step_history.h"

#include <algorithm>
#include <utility>

namespace ui::models {

void StepHistory::add(const std::vector<engine::TraceEvent>& events) {
  for (const engine::TraceEvent& event : events) {
    if (event.kind == engine::TraceKind::Slice) {
      m_pendingSlices.push_back(event.slice);
    } else if (event.kind == engine::TraceKind::Iteration) {
      StepColumn column;
      column.iteration = event.iteration;
      // A loss may have left slices of a step whose own record is gone.
      std::erase_if(m_pendingSlices, [&](const engine::SliceRecord& slice) {
        return slice.iteration != event.iteration.id;
      });
      column.slices = std::exchange(m_pendingSlices, {});
      column.lostBefore = std::exchange(m_lossPending, false);
      m_columns.push_back(std::move(column));
      if (m_columns.size() > m_capacity) m_columns.pop_front();
    }
  }
}

void StepHistory::clear() {
  m_columns.clear();
  m_pendingSlices.clear();
  m_lossPending = false;
}

int StepHistory::indexOf(std::uint64_t iteration) const {
  const auto at = std::ranges::lower_bound(m_columns, iteration, {}, [](const StepColumn& column) {
    return column.iteration.id;
  });
  if (at == m_columns.end() || at->iteration.id != iteration) return -1;
  return static_cast<int>(at - m_columns.begin());
}

int StepHistory::indexAt(std::int64_t ns) const {
  const auto at = std::ranges::upper_bound(m_columns, ns, {}, [](const StepColumn& column) {
    return column.iteration.t1Ns;
  });
  return at != m_columns.end() && at->iteration.t0Ns <= ns ? static_cast<int>(at - m_columns.begin()) : -1;
}

}  // namespace ui::models
