#include "ui/models/time_axis.h"

#include <algorithm>
#include <cmath>

namespace ui::models {

TimeAxis TimeAxis::zoomedAt(double x, double factor) const {
  TimeAxis zoomed;
  zoomed.nsPerPixel = std::clamp(nsPerPixel / factor, kMinNsPerPixel, kMaxNsPerPixel);
  zoomed.originNs = originNs + std::llround(x * (nsPerPixel - zoomed.nsPerPixel));
  return zoomed;
}

TimeAxis TimeAxis::pannedBy(double pixels) const {
  return {originNs - std::llround(pixels * nsPerPixel), nsPerPixel};
}

TimeAxis TimeAxis::fitting(std::int64_t t0Ns, std::int64_t t1Ns, double width) {
  const double span = static_cast<double>(std::max<std::int64_t>(1, t1Ns - t0Ns));
  return {t0Ns, std::clamp(span / std::max(1.0, width), kMinNsPerPixel, kMaxNsPerPixel)};
}

std::int64_t TimeAxis::tickStepNs(double minPixels) const {
  const double least = std::max(1.0, minPixels * nsPerPixel);
  const double decade = std::pow(10.0, std::floor(std::log10(least)));
  for (double factor : {1.0, 2.0, 5.0}) {
    if (factor * decade >= least) return std::llround(factor * decade);
  }
  return std::llround(10.0 * decade);
}

}  // namespace ui::models
