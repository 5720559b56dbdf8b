#include "engine/trace/event_times.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <variant>

namespace engine::trace {

std::optional<std::int64_t> ownTime(const TraceEvent& event) {
  switch (event.kind) {
    case TraceKind::Iteration:
      return event.iteration.t1Ns;
    case TraceKind::Token:
      return event.token.tNs;
    case TraceKind::Request:
      return event.request.tNs;
    case TraceKind::Knob:
      return event.knob.tNs;
    case TraceKind::Branch:
      return event.branch.tNs;
    case TraceKind::None:
    case TraceKind::Slice:
    case TraceKind::Block:
    case TraceKind::Draft:
      break;
  }
  return std::nullopt;
}

namespace {

std::optional<std::int64_t> ownTime(const EngineMessage& message) {
  if (const auto* ended = std::get_if<RequestFinished>(&message)) {
    if (ended->times.finishedNs >= 0) return ended->times.finishedNs;
  }
  return std::nullopt;
}

}  // namespace

namespace {

// For each event, the end of the first iteration to end among those told of at or after it; so they
// never go back.
std::vector<std::int64_t> iterationEnds(const std::vector<Timed<TraceEvent>>& events) {
  std::vector<std::int64_t> ends(events.size());
  std::int64_t endNs = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = events.size(); i-- > 0;) {
    const auto& [takenNs, event] = events[i];
    if (event.kind == TraceKind::Iteration)
      endNs = std::min({endNs, takenNs, event.iteration.t1Ns});
    ends[i] = endNs;
  }
  return ends;
}

}  // namespace

void settleTimes(std::vector<Timed<TraceEvent>>& events) {
  const std::vector<std::int64_t> ends = iterationEnds(events);
  std::int64_t ns = std::numeric_limits<std::int64_t>::min();
  for (std::size_t i = 0; i < events.size(); ++i) {
    auto& [timeNs, event] = events[i];
    if (const auto own = ownTime(event)) {
      timeNs = ns = std::clamp(std::min(timeNs, *own), ns, ends[i]);
    }
  }
  // what has no time of its own, though the recorder may have looked in between
  const Timed<TraceEvent>* next = nullptr;
  for (std::size_t i = events.size(); i-- > 0;) {
    if (ownTime(events[i].value))
      next = &events[i];
    else
      events[i].timeNs = next == nullptr ? std::max(ns, events[i].timeNs) : next->timeNs;
  }
}

std::vector<std::int64_t> showTimes(std::span<const EngineMessage> messages, std::int64_t takenNs) {
  std::vector<std::int64_t> times(messages.size());
  std::int64_t ns = takenNs;
  for (std::size_t i = messages.size(); i-- > 0;) {
    if (const auto own = ownTime(messages[i])) ns = std::min(ns, *own);
    times[i] = ns;
  }
  return times;
}

}  // namespace engine::trace
