// What came back for a request, as the fields that generate and run share.
#pragma once

#include "app/cli/cli_io.h"
#include "app/cli/engine_session.h"

namespace app::cli {

Json sampledIdsJson(const AnswerText& answer);
// One raw log-softmax value an id; a value that is no finite number is null.
Json logprobsJson(const AnswerText& answer);
// For each id the likeliest as [id, logprob], best first.
Json topLogprobsJson(const AnswerText& answer);
// 16 hexadecimal digits an id: JSON readers lose digits of 64-bit numbers.
Json rowHashesJson(const AnswerText& answer);
// From arrival to the first token; null without one.
Json ttftJson(const Answer& answer);
// The answers of a request that asked for several (null when it did not), each with index, text, ids,
// logprobs, top_logprobs where asked for, row_hashes where `wantsHashes`, finish_reason,
// cumulative_logprob and score.
Json choicesJson(const Answer& answer, bool wantsTop, bool wantsHashes);
// What speculation did since the model was loaded; all zero without it. null = no model came.
Json speculationJson(const engine::EngineSnapshot* last);

// The time between two points of the engine's clock; null when one did not happen.
Json millisecondsJson(std::int64_t fromNs, std::int64_t toNs);

}  // namespace app::cli
