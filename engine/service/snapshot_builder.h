// Puts together what the scheduler, the cache and the service each know into one published value.
#pragma once

#include "engine/api/snapshot.h"
#include "engine/service/engine_step.h"
#include "engine/service/model_session.h"

namespace engine::service {

// Of a request whose prompt is still text.
RequestSnapshot tokenisingSnapshot(const RequestSpec& spec, std::int64_t arrivalNs);

// The session's part: model, pool, blocks, requests, counters, rates, last step.
void addSession(EngineSnapshot& snapshot, ModelSession& session, EngineStep& step);

}  // namespace engine::service
