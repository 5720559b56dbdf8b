// Which requests stand out: the first few alive get a hue each and keep it; the rest share grey.
#pragma once

#include <vector>

#include "engine/api/snapshot.h"

namespace ui::models {

class RequestHues {
 public:
  static constexpr int kNumHues = 7;

  // Gives hues of requests that ended to ones that wait for a hue, oldest first.
  void update(const std::vector<engine::RequestSnapshot>& requests);
  // 0..kNumHues-1, or -1: grey.
  int hueOf(engine::RequestId id) const;
  // Requests by hue; none where a hue is free.
  const std::vector<engine::RequestId>& holders() const { return m_holders; }

 private:
  std::vector<engine::RequestId> m_holders = std::vector<engine::RequestId>(kNumHues);
};

}  // namespace ui::models
