#include "kernels/core/rope_angles.h"

#include <cmath>
#include <cstddef>

namespace kernels {

void ropeAngles(const RopeSpec& rope, std::int64_t position, float* cosines, float* sines) {
  constexpr double kTurn = 6.283185307179586476925286766559;
  for (std::size_t i = 0; i < rope.inverseFrequencies.size(); ++i) {
    const double angle =
        static_cast<double>(position) * static_cast<double>(rope.inverseFrequencies[i]);
    const float reduced = static_cast<float>(angle - kTurn * std::nearbyint(angle / kTurn));
    cosines[i] = std::cos(reduced) * rope.magnitude;
    sines[i] = std::sin(reduced) * rope.magnitude;
  }
}

}  // namespace kernels
