#include "ui/bridge/frame_cost.h"

#include <time.h>

#include <algorithm>
#include <cmath>

namespace ui::bridge {

double threadCpuMs() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

void FrameCost::addFrame(double ms) {
  constexpr double kWeight = 0.1;  // about the last ten frames
  m_meanMs = m_meanMs == 0 ? ms : m_meanMs + kWeight * (ms - m_meanMs);
  m_worstMs = std::max(m_worstMs, ms);
  const int wanted = std::clamp(static_cast<int>(std::ceil(m_meanMs / kMaxCoreShare)),
                                kFastestIntervalMs, kSlowestIntervalMs);
  // Slow down at once, speed up by an eighth of the way: no flutter between two rates.
  m_intervalMs = wanted >= m_intervalMs ? wanted : m_intervalMs - std::max(1, (m_intervalMs - wanted) / 8);
}

}  // namespace ui::bridge
