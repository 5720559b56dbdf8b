// What the window itself costs, and how often it can afford to refresh.
#pragma once

namespace ui::bridge {

// Processor time of the calling thread so far, in ms: what the window takes from the engine, however
// busy the machine is.
double threadCpuMs();

// Keeps refresh rate × mean frame cost within a share of one core. Pure arithmetic; Ui thread only.
class FrameCost {
 public:
  static constexpr double kMaxCoreShare = 0.04;
  static constexpr int kFastestIntervalMs = 33;
  static constexpr int kSlowestIntervalMs = 200;

  // Time spent in one frame, everything connected to it included.
  void addFrame(double ms);
  double meanMs() const { return m_meanMs; }
  double worstMs() const { return m_worstMs; }
  void resetWorst() { m_worstMs = 0; }

  // Within [kFastestIntervalMs, kSlowestIntervalMs]; moves by small steps to keep the pace steady.
  int intervalMs() const { return m_intervalMs; }

 private:
  double m_meanMs = 0;
  double m_worstMs = 0;
  int m_intervalMs = kFastestIntervalMs;
};

}  // namespace ui::bridge
