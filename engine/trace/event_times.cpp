#include "engine/trace/event_times.h"

#include <algorithm>
#include <optional>
#include <variant>

namespace engine::trace {

namespace {

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

std::optional<std::int64_t> ownTime(const EngineMessage& message) {
  if (const auto* ended = std::get_if<RequestFinished>(&message)) {
    if (ended->times.finishedNs >= 0) return ended->times.finishedNs;
  }
  return std::nullopt;
}

// Backwards, so that what has no time of its own shows with what follows it. Order is kept: an
// earlier item never shows after a later one.
template <typename T>
std::vector<std::int64_t> showTimesOf(std::span<const T> items, std::int64_t takenNs) {
  std::vector<std::int64_t> times(items.size());
  std::int64_t ns = takenNs;
  for (std::size_t i = items.size(); i-- > 0;) {
    if (const auto own = ownTime(items[i])) ns = std::min(ns, *own);
    times[i] = ns;
  }
  return times;
}

}  // namespace

std::vector<std::int64_t> showTimes(std::span<const TraceEvent> events, std::int64_t takenNs) {
  return showTimesOf(events, takenNs);
}

std::vector<std::int64_t> showTimes(std::span<const EngineMessage> messages, std::int64_t takenNs) {
  return showTimesOf(messages, takenNs);
}

}  // namespace engine::trace
