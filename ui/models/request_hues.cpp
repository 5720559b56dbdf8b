#include "ui/models/request_hues.h"

#include <algorithm>

namespace ui::models {

void RequestHues::update(const std::vector<engine::RequestSnapshot>& requests) {
  const auto isAlive = [&](engine::RequestId id) {
    return std::ranges::any_of(requests, [id](const engine::RequestSnapshot& request) {
      return request.id == id && request.state != engine::RequestState::Finished;
    });
  };
  // A request that has finished keeps its hue until somebody needs it: its cached blocks stay legible.
  for (const engine::RequestSnapshot& request : requests) {
    if (request.state == engine::RequestState::Finished || hueOf(request.id) >= 0) continue;
    auto seat = std::ranges::find_if(m_holders, [](engine::RequestId id) { return id.isNone(); });
    if (seat == m_holders.end()) {
      seat = std::ranges::find_if(m_holders, [&](engine::RequestId id) { return !isAlive(id); });
    }
    if (seat != m_holders.end()) *seat = request.id;
  }
}

int RequestHues::hueOf(engine::RequestId id) const {
  if (id.isNone()) return -1;
  const auto seat = std::ranges::find(m_holders, id);
  return seat == m_holders.end() ? -1 : static_cast<int>(seat - m_holders.begin());
}

}  // namespace ui::models
