#include "engine/sched/sequence.h"

#include <utility>

#include "engine/base/check.h"

namespace engine::sched {

bool isLegalTransition(RequestState from, RequestState to) {
  switch (from) {
    case RequestState::Tokenising:
      return to == RequestState::Waiting || to == RequestState::Finished;
    case RequestState::Waiting:
    case RequestState::Preempted:
      return to == RequestState::Prefilling || to == RequestState::Finished;
    case RequestState::Prefilling:
      return to == RequestState::Decoding || to == RequestState::Preempted ||
             to == RequestState::Finished;
    case RequestState::Decoding:
      return to == RequestState::Preempted || to == RequestState::Finished;
    case RequestState::Finished:
      return false;
  }
  return false;
}

Sequence::Sequence(SequenceSpec theSpec,
                   std::uint64_t theArrivalOrder,
                   kv::HashChain theChain,
                   int blockSize)
    : spec(std::move(theSpec)),
      tokens(spec.promptIds),
      newest(tokens.back()),
      table(spec.id, blockSize),
      chain(std::move(theChain)),
      arrivalOrder(theArrivalOrder),
      rootArrival(theArrivalOrder) {}

void Sequence::setState(RequestState state) {
  if (state == progress.state) return;
  CHECK(isLegalTransition(progress.state, state));
  progress.state = state;
}

}  // namespace engine::sched
