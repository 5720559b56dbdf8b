// Finds stop strings in text that comes in pieces, and holds back exactly what could become one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace engine::text {

// Where a stop string ended the text.
struct StopCut {
  std::size_t stopIndex = 0;  // in the list given at creation
  std::size_t textBytes = 0;  // length of the text before the stop string
  std::size_t pushIndex = 0;  // the push (0-based, one a token) that completed it: ids and usage
                              // keep that token and nothing after it
};

// One sequence's matcher; not thread-safe. The text is read byte by byte, so the cut depends on the
// text alone, never on how it was divided into tokens: the stop string completed first wins; of
// those completed by the same byte, the longest. Whole characters in, whole characters out.
class StopMatcher {
 public:
  // Stop strings must not be empty (checkSamplingParams refuses them).
  explicit StopMatcher(const std::vector<std::string>& stops);

  // Text that can be shown now. After a cut: empty, and the matcher ignores what follows.
  std::string push(std::string_view text);

  // At the end without a cut: what was held back.
  std::string finish();

  bool isStopped() const { return m_isStopped; }

  // Meaningful when isStopped().
  const StopCut& cut() const { return m_cut; }

 private:
  // Knuth-Morris-Pratt: how much of the stop string the text now ends with.
  struct Stop {
    std::string text;
    std::vector<std::size_t> borders;  // [text.size()] longest proper border of each prefix
    std::size_t matched = 0;
  };

  void advance(Stop& stop, char byte) const;
  std::string release(std::size_t numHeld);

  std::vector<Stop> m_stops;
  std::string m_held;
  std::size_t m_shownBytes = 0;
  std::size_t m_numPushes = 0;
  bool m_isStopped = false;
  StopCut m_cut;
};

}  // namespace engine::text
