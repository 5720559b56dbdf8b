// Turns the prompts of a workload into what the engine takes.
#pragma once

#include <cstdint>

#include "engine/api/request.h"
#include "engine/base/result.h"
#include "engine/sim/workload.h"
#include "engine/text/tokenizer.h"

namespace app::cli {

// Ids of ordinary text. Never empty: a vocabulary without any gives all its ids.
engine::sim::PromptAlphabet plainTokens(const engine::text::Vocabulary& vocabulary);

// Some request needs the tokenizer before it can be sent: its prompt is drawn, or its output as
// long as a recorded answer.
bool needsTokenizer(const engine::sim::Workload& workload);

// As many tokens as its recorded answer has, where it has one that is text.
void takeAnswerLength(engine::sim::WorkloadRequest& request, const engine::text::Tokenizer& tokenizer);

// Draws synthetic prompts from `seed` and sets output lengths from recorded answers. A prompt that
// leaves a context of `maxContext` no room to answer is not drawn: it stays synthetic, to be refused
// by its length. InvalidArgument when all drawn prompts together are longer than 2^28 tokens.
engine::Result<void> resolvePrompts(engine::sim::Workload& workload,
                                    const engine::text::Tokenizer& tokenizer,
                                    std::uint64_t seed,
                                    std::int64_t maxContext);

}  // namespace app::cli
