// A model loaded for one sequence at a time: what score, perplexity and divergence work on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/cli/cli_io.h"
#include "engine/api/engine_config.h"
#include "engine/base/ids.h"
#include "engine/base/result.h"
#include "engine/service/loaded_model.h"
#include "engine/text/tokenizer.h"

namespace app::cli {

// Loads config.load.modelPath with a pool of exactly `tokens` tokens.
engine::Result<engine::service::LoadedModel> loadForScoring(CliIo& io,
                                                            engine::EngineConfig config,
                                                            std::int64_t tokens);

// Says so when the model's file was changed while figures were made with it.
void warnOfChange(CliIo& io, const engine::service::LoadedModel& model);

// llama.cpp's rule for a text to measure on: no control tokens matched, the last newline dropped,
// BOS and EOS added as the file says.
engine::Result<std::vector<engine::TokenId>> encodeForPerplexity(
    const engine::text::Tokenizer& tokenizer, std::string text);

inline constexpr std::int64_t kMaxScoredContext = 1 << 24;
// For --context of the chunk rule: even, 4 to kMaxScoredContext. Empty when it is.
std::optional<std::string> contextError(std::int64_t context);

}  // namespace app::cli
