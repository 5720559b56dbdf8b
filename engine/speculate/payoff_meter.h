// Whether verifying guesses makes tokens cheaper than plain steps do: measured, never assumed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace engine::speculate {

// Compares time a token of decode steps with guesses and without, apart for 1, 2-3, 4-7, ...
// requests a step. What guessing has lost in all stays within a small share of the time that all
// steps took: a trial that could cost more waits. Guessing stops where it loses and is tried again after a pause that doubles with
// every loss, so that a workload it does not suit pays a few per cent of a few steps. Engine thread
// only.
class PayoffMeter {
 public:
  // What a trial may cost beyond plain steps when no guess stands, where that is known before.
  struct TrialCost {
    double ns = 0;     // to begin at all: what a draft model lacks of the sequences
    double steps = 0;  // of all its steps, in plain ones
  };

  // Whether the next step of `rows` >= 1 decoding requests should carry guesses. Asked once a step.
  bool mayDraft(int rows, const TrialCost& cost);

  bool mayDraft(int rows) { return mayDraft(rows, TrialCost()); }

  // Guesses for steps of this size have not shown yet that they pay.
  bool isOnTrial(int rows) const { return m_sizes[indexOf(rows)].trial < kTrialSteps; }

  // A step of decodes alone: `tokens` >= 1 came out of it in `ns`.
  void record(int rows, int tokens, std::int64_t ns, bool hasDrafts);
  // Time of other steps; of a draft model that catches up.
  void recordOther(std::int64_t ns) { m_totalNs += static_cast<double>(ns); }
  void recordCatchUp(std::int64_t ns);

  // Time won by guessing so far, lost when negative; empty without a baseline.
  std::optional<double> savedNs() const;

  static constexpr int kTrialSteps = 4;  // steps with guesses before they are judged

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

  bool isWithinMeans(const Size& size, int rows, const TrialCost& cost) const;

  std::array<Size, 16> m_sizes;
  double m_totalNs = 0;   // of all steps
  double m_savedNs = 0;   // as savedNs()
  double m_lostNs = 0;    // the same turned round, single outliers cut
  bool m_hasBaseline = false;
  std::size_t m_current = 0;
};

}  // namespace engine::speculate
