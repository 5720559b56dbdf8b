#include "engine/text/stop_matcher.h"

#include <algorithm>

#include "engine/base/check.h"

namespace engine::text {

namespace {

std::vector<std::size_t> bordersOf(const std::string& text) {
  std::vector<std::size_t> borders(text.size(), 0);
  for (std::size_t at = 1; at < text.size(); ++at) {
    std::size_t border = borders[at - 1];
    while (border > 0 && text[at] != text[border]) border = borders[border - 1];
    borders[at] = text[at] == text[border] ? border + 1 : 0;
  }
  return borders;
}

}  // namespace

StopMatcher::StopMatcher(const std::vector<std::string>& stops) {
  for (const std::string& text : stops) {
    CHECK(!text.empty());
    m_stops.push_back({text, bordersOf(text), 0});
  }
}

std::string StopMatcher::push(std::string_view text) {
  if (m_isStopped) return {};
  const std::size_t pushIndex = m_numPushes++;
  for (const char byte : text) {
    m_held.push_back(byte);
    const Stop* completed = nullptr;
    for (Stop& stop : m_stops) {
      advance(stop, byte);
      const bool isComplete = stop.matched == stop.text.size();
      if (isComplete && (!completed || stop.text.size() > completed->text.size()))
        completed = &stop;
    }
    if (!completed) continue;
    const std::string shown = release(completed->text.size());
    m_held.clear();
    m_isStopped = true;
    m_cut = {static_cast<std::size_t>(completed - m_stops.data()), m_shownBytes, pushIndex};
    return shown;
  }
  std::size_t numHeld = 0;
  for (const Stop& stop : m_stops) numHeld = std::max(numHeld, stop.matched);
  return release(numHeld);
}

std::string StopMatcher::finish() {
  return m_isStopped ? std::string() : release(0);
}

void StopMatcher::advance(Stop& stop, char byte) const {
  while (stop.matched > 0 && stop.text[stop.matched] != byte) {
    stop.matched = stop.borders[stop.matched - 1];
  }
  if (stop.text[stop.matched] == byte) ++stop.matched;
}

std::string StopMatcher::release(std::size_t numHeld) {
  std::string shown = m_held.substr(0, m_held.size() - numHeld);
  m_held.erase(0, shown.size());
  m_shownBytes += shown.size();
  return shown;
}

}  // namespace engine::text
