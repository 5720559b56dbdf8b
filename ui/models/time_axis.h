// The mapping between the engine's clock and pixels: plain arithmetic, no widget.
#pragma once

#include <cstdint>

namespace ui::models {

// Which times are shown, and how wide.
struct TimeAxis {
  static constexpr double kMinNsPerPixel = 1e2, kMaxNsPerPixel = 1e9;

  std::int64_t originNs = 0;  // time at pixel 0
  double nsPerPixel = 1e7;

  double xOf(std::int64_t ns) const { return static_cast<double>(ns - originNs) / nsPerPixel; }
  std::int64_t timeAt(double x) const { return originNs + static_cast<std::int64_t>(x * nsPerPixel); }

  // The time under pixel x stays there; factor > 1 shows less time. Clamped to the limits above.
  TimeAxis zoomedAt(double x, double factor) const;
  // Content moves right by `pixels`, as under a dragging hand.
  TimeAxis pannedBy(double pixels) const;
  // Exactly [t0Ns, t1Ns] over `width` pixels, within the limits above.
  static TimeAxis fitting(std::int64_t t0Ns, std::int64_t t1Ns, double width);

  // Distance of labelled ticks: 1, 2 or 5 times a power of ten ns, at least `minPixels` apart.
  std::int64_t tickStepNs(double minPixels) const;
};

}  // namespace ui::models
