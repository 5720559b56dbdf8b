// Turns the prompts of a workload into what the engine takes.
#pragma once

#include <cstdint>

#include "engine/api/request.h"
#include "engine/sim/workload.h"
#include "engine/text/tokenizer.h"

namespace app::cli {

// Ids of ordinary text. Never empty: a vocabulary without any gives all its ids.
engine::sim::PromptAlphabet plainTokens(const engine::text::Vocabulary& vocabulary);

// Some request needs the tokenizer before it can be sent: its prompt is drawn, or its output as
// long as a recorded answer.
bool needsTokenizer(const engine::sim::Workload& workload);

// Draws synthetic prompts from `seed` and sets output lengths from recorded answers.
void resolvePrompts(engine::sim::Workload& workload,
                    const engine::text::Tokenizer& tokenizer,
                    std::uint64_t seed);

}  // namespace app::cli
