// tessera-cli as a function: arguments in, exit code out.
#pragma once

#include <string>
#include <vector>

#include "app/cli/cli_io.h"

namespace app::cli {

inline constexpr const char* kVersion = "tessera-cli 0.1.0";

// `arguments` without the program's name. Returns an ExitCode; never throws.
int runCli(const std::vector<std::string>& arguments, CliIo& io);

}  // namespace app::cli
