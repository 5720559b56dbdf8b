// How many guesses were made and accepted at each position of a draft, over time; from trace events.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "engine/api/trace_event.h"

namespace ui::models {

struct AcceptanceFigures {
  // By position in the draft, [0] the first guess. A guess counts as accepted when all before it were too.
  std::vector<std::int64_t> drafted, accepted;
  std::int64_t passes = 0;  // verifications that had a guess to check
  std::int64_t acceptedInAll = 0;

  double rateAt(std::size_t position) const {
    return drafted[position] > 0 ? static_cast<double>(accepted[position]) / static_cast<double>(drafted[position]) : 0;
  }
  // A pass yields what was accepted and one token of the model itself.
  double tokensPerPass() const {
    return passes > 0 ? static_cast<double>(acceptedInAll + passes) / static_cast<double>(passes) : 0;
  }
};

// Ui thread only. Keeps the latest kCapacity passes.
class Acceptance {
 public:
  static constexpr std::size_t kCapacity = std::size_t{1} << 16;

  // Slices of a step come before its Iteration record.
  void add(const std::vector<engine::TraceEvent>& events);
  void clear();
  // Of passes in steps that began in [t0Ns, t1Ns).
  AcceptanceFigures figures(std::int64_t t0Ns, std::int64_t t1Ns) const;

 private:
  struct Pass {
    std::int64_t tNs;
    std::uint16_t drafted, accepted;
  };

  std::deque<Pass> m_passes;
  std::vector<engine::SliceRecord> m_pendingSlices;
};

}  // namespace ui::models
