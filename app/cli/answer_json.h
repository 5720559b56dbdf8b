// What came back for a request, as the fields that generate and run share.
#pragma once

#include "app/cli/cli_io.h"
#include "app/cli/engine_session.h"

namespace app::cli {

Json sampledIdsJson(const Answer& answer);
// One raw log-softmax value an id; a value that is no finite number is null.
Json logprobsJson(const Answer& answer);
// For each id the likeliest as [id, logprob], best first.
Json topLogprobsJson(const Answer& answer);
// 16 hexadecimal digits an id: JSON readers lose digits of 64-bit numbers.
Json rowHashesJson(const Answer& answer);
// From arrival to the first token; null without one.
Json ttftJson(const Answer& answer);
// What speculation did since the model was loaded; all zero without it. null = no model came.
Json speculationJson(const engine::EngineSnapshot* last);

// The time between two points of the engine's clock; null when one did not happen.
Json millisecondsJson(std::int64_t fromNs, std::int64_t toNs);

}  // namespace app::cli
