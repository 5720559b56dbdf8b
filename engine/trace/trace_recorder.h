// Pushes trace events into the ring that a front end drains. Allocates nothing, never waits; what
// the ring cannot take is counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/api/trace_event.h"
#include "engine/base/spsc_ring.h"

namespace engine::trace {

// record() belongs to the engine thread, drain() to the front end's.
class TraceRecorder {
 public:
  // capacity: events, a power of two
  explicit TraceRecorder(std::size_t capacity) : m_ring(capacity) {}

  // Record: one of the structs of trace_event.h.
  template <typename Record>
  void record(const Record& record) {
    m_ring.push(TraceEvent(record));
  }

  // key is cut at 31 bytes.
  void recordKnob(std::int64_t nowNs, std::string_view key, double oldValue, double newValue) {
    KnobRecord knob{nowNs, oldValue, newValue, {}};
    key.copy(knob.key, sizeof knob.key - 1);
    record(knob);
  }

  void drain(std::vector<TraceEvent>& out) { m_ring.drain(out); }

  // Without the lost ones.
  std::uint64_t numRecorded() const { return m_ring.numPushed(); }
  std::uint64_t numLost() const { return m_ring.numLost(); }

 private:
  SpscRing<TraceEvent> m_ring;
};

}  // namespace engine::trace
