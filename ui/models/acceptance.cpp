#include "ui/models/acceptance.h"

#include <algorithm>

namespace ui::models {

void Acceptance::add(const std::vector<engine::TraceEvent>& events) {
  for (const engine::TraceEvent& event : events) {
    if (event.kind == engine::TraceKind::Slice) {
      if (event.slice.drafted > 0) m_pendingSlices.push_back(event.slice);
    } else if (event.kind == engine::TraceKind::Iteration) {
      for (const engine::SliceRecord& slice : m_pendingSlices) {
        if (slice.iteration != event.iteration.id) continue;  // of a step whose own record was lost
        m_passes.push_back({event.iteration.t0Ns, slice.drafted, std::min(slice.accepted, slice.drafted)});
        if (m_passes.size() > kCapacity) m_passes.pop_front();
      }
      m_pendingSlices.clear();
    }
  }
}

void Acceptance::clear() {
  m_passes.clear();
  m_pendingSlices.clear();
}

AcceptanceFigures Acceptance::figures(std::int64_t t0Ns, std::int64_t t1Ns) const {
  AcceptanceFigures result;
  for (const Pass& pass : m_passes) {
    if (pass.tNs < t0Ns || pass.tNs >= t1Ns) continue;
    if (pass.drafted > result.drafted.size()) {
      result.drafted.resize(pass.drafted);
      result.accepted.resize(pass.drafted);
    }
    for (std::size_t i = 0; i < pass.drafted; ++i) {
      ++result.drafted[i];
      result.accepted[i] += i < pass.accepted;
    }
    ++result.passes;
    result.acceptedInAll += pass.accepted;
  }
  return result;
}

}  // namespace ui::models
