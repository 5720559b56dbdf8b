// Whether verifying guesses makes tokens cheaper than plain steps do: measured, never assumed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace engine::speculate {

// Compares time a token of decode steps with guesses and without, apart for 1, 2-3, 4-7, ...
// requests a step. Guessing stops where it loses and is tried again after a pause that doubles with
// every loss, so that a workload it does not suit pays a few per cent of a few steps. Engine thread
// only.
class PayoffMeter {
 public:
  // Whether the next step of `rows` >= 1 decoding requests should carry guesses. Asked once a step.
  bool mayDraft(int rows);

  // A step of decodes alone: `tokens` >= 1 came out of it in `ns`.
  void record(int rows, int tokens, std::int64_t ns, bool hasDrafts);

  // Nanoseconds a token of the newest step's size; empty when not measured.
  std::optional<double> plainNsPerToken() const { return current().plain.value(); }

  std::optional<double> draftedNsPerToken() const { return current().drafted.value(); }

 private:
  // A moving mean that one outlier cannot carry away.
  struct Mean {
    double mean = 0;
    int count = 0;

    void add(double value);

    std::optional<double> value() const {
      return count == 0 ? std::nullopt : std::optional<double>(mean);
    }
  };

  struct Size {
    Mean plain, drafted;
    int trial = 0;         // steps with guesses since the last pause
    int pause = 0;         // steps left without them
    int nextPause = 0;     // of the next loss
    int sincePlain = 0;    // steps with guesses since the last one without
  };

  static std::size_t indexOf(int rows);

  const Size& current() const { return m_sizes[m_current]; }

  std::array<Size, 16> m_sizes;
  std::size_t m_current = 0;
};

}  // namespace engine::speculate
