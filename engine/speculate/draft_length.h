// How many guesses a request gets: as many as lately stood, and one more to find out.
#pragma once

#include <algorithm>

namespace engine::speculate {

// Engine thread only; one a request.
class DraftLength {
 public:
  // At least 1, at most `limit` >= 1.
  int next(int limit) const { return m_length == 0 ? limit : std::min(m_length, limit); }

  // drafted >= 1: the guesses of one pass; accepted: how many of them stood.
  void record(int drafted, int accepted) {
    if (accepted < drafted) {
      m_length = accepted + 1;
    } else if (m_length != 0) {
      m_length = std::max(m_length, drafted + 1);
    }
  }

 private:
  int m_length = 0;  // 0 = nothing has fallen yet: as many as are allowed
};

}  // namespace engine::speculate
