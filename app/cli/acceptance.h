// How often guesses hold, for the simulator: given, or taken from a recorded run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/cli/cli_io.h"
#include "engine/base/result.h"

namespace app::cli {

// What is wrong with a number that is no probability; a file is not looked at.
std::optional<std::string> acceptanceError(const std::string& given);

// A number from 0 to 1, or a file: a document of `run --json` or `generate --json` with its
// `speculation`. Result: by place in the pass, the probability of a guess whose forerunners held.
engine::Result<std::vector<double>> readAcceptance(CliIo& io, const std::string& given);

}  // namespace app::cli
