#include "engine/trace/time_origin.h"

#include <algorithm>
#include <variant>

namespace engine::trace {

namespace {

// Below 0 says "not yet", before and after.
void moveKnown(std::int64_t& ns, std::int64_t byNs) {
  if (ns >= 0) ns = std::max<std::int64_t>(0, ns + byNs);
}

void moveTimes(RequestTimes& times, std::int64_t byNs) {
  for (std::int64_t* ns : {&times.arrivalNs, &times.tokenisedNs, &times.admittedNs,
                           &times.prefilledNs, &times.firstTokenNs, &times.lastTokenNs,
                           &times.finishedNs}) {
    moveKnown(*ns, byNs);
  }
}

}  // namespace

void moveTimes(TraceEvent& event, std::int64_t byNs) {
  switch (event.kind) {
    case TraceKind::Iteration:
      event.iteration.t0Ns += byNs;
      event.iteration.t1Ns += byNs;
      break;
    case TraceKind::Token:
      event.token.tNs += byNs;
      break;
    case TraceKind::Request:
      event.request.tNs += byNs;
      break;
    case TraceKind::Knob:
      event.knob.tNs += byNs;
      break;
    case TraceKind::Branch:
      event.branch.tNs += byNs;
      break;
    case TraceKind::None:
    case TraceKind::Slice:
    case TraceKind::Block:
    case TraceKind::Draft:
      break;
  }
}

void moveTimes(EngineMessage& message, std::int64_t byNs) {
  if (auto* delta = std::get_if<TextDelta>(&message)) moveKnown(delta->timeNs, byNs);
  if (auto* ended = std::get_if<RequestFinished>(&message)) moveTimes(ended->times, byNs);
}

void moveTimes(EngineSnapshot& snapshot, std::int64_t byNs) {
  snapshot.timeNs += byNs;
  if (!snapshot.lastStep.id.isNone()) {
    snapshot.lastStep.t0Ns += byNs;
    snapshot.lastStep.t1Ns += byNs;
  }
  for (RequestSnapshot& request : snapshot.requests) moveTimes(request.times, byNs);
}

}  // namespace engine::trace
