// The commands, one file each. A command adds its flags and returns what runs once they are parsed.
#pragma once

#include <functional>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/cli/cli_io.h"

namespace app::cli {

// Returns an ExitCode. Nothing goes to standard output before success is certain (generate's text
// as it comes excepted).
using CommandRun = std::function<int(CliIo&)>;

CommandRun setUpTokenize(CLI::App& app);
CommandRun setUpDetokenize(CLI::App& app);

CommandRun setUpTemplate(CLI::App& app);
CommandRun setUpGenerate(CLI::App& app);
CommandRun setUpRun(CLI::App& app);
CommandRun setUpBench(CLI::App& app);
CommandRun setUpInspect(CLI::App& app);
CommandRun setUpSimulate(CLI::App& app);
CommandRun setUpPlan(CLI::App& app);
CommandRun setUpReplay(CLI::App& app);
CommandRun setUpExport(CLI::App& app);
CommandRun setUpScore(CLI::App& app);
CommandRun setUpPerplexity(CLI::App& app);
CommandRun setUpDivergence(CLI::App& app);

struct Command {
  const char* name;
  const char* summary;
  CommandRun (*setUp)(CLI::App& app);
};

// In the order of the help text; the one place to add a command.
const std::vector<Command>& commands();

}  // namespace app::cli
