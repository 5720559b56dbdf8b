// Long work cut into short pieces with rests between them: threads that keep a beat on the same
// cores hardly feel it. A lower priority alone does not do that: the system lets whoever runs go on
// until its next tick, which is milliseconds.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

namespace engine {

// The pace of the thread that makes it, while it lives; one a thread at most.
class Pace {
 public:
  struct Beat {
    std::chrono::nanoseconds work, rest;
  };

  // A thirtieth of a core. Pieces are shorter than compute threads spin before they sleep (40 us), so
  // that a thread held up for one does not send the others to sleep.
  static constexpr Beat kBesideSteps{std::chrono::microseconds(30), std::chrono::microseconds(970)};

  // Rests only while isWanted, which another thread may change and which must outlive this.
  explicit Pace(const std::atomic<bool>& isWanted, Beat beat = kBesideSteps)
      : m_isWanted(isWanted), m_beat(beat) {
    t_ofThread = this;
  }

  ~Pace() { t_ofThread = nullptr; }

  Pace(const Pace&) = delete;
  Pace& operator=(const Pace&) = delete;

  // Once every few microseconds of work that may be long; costs nothing on a thread without a pace.
  static void breathe() {
    if (t_ofThread != nullptr) t_ofThread->breatheHere();
  }

  int numRests() const { return m_numRests; }

 private:
  static constexpr int kBreathsPerLook = 16;  // at the clock

  void breatheHere() {
    if (++m_breaths % kBreathsPerLook != 0) return;
    if (!m_isWanted.load(std::memory_order_relaxed)) return;
    if (std::chrono::steady_clock::now() - m_begin < m_beat.work) return;
    ++m_numRests;
    std::this_thread::sleep_for(m_beat.rest);
    m_begin = std::chrono::steady_clock::now();
  }

  inline static constinit thread_local Pace* t_ofThread = nullptr;

  const std::atomic<bool>& m_isWanted;
  const Beat m_beat;
  std::chrono::steady_clock::time_point m_begin = std::chrono::steady_clock::now();
  unsigned m_breaths = 0;
  int m_numRests = 0;
};

}  // namespace engine
