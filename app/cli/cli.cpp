#include "app/cli/cli.h"

#include <algorithm>
#include <exception>
#include <map>
#include <new>

#include <fmt/format.h>

#include "app/cli/commands.h"
#include "app/cli/not_built.h"
#include "engine/model/safe_text.h"

namespace app::cli {

namespace {

// What a person typed is shown again only so far.
constexpr std::size_t kMaxSentence = 300;

// CLI11 wants the last argument first, and takes the next argument for "--flag=".
std::vector<std::string> forParser(const std::vector<std::string>& arguments) {
  std::vector<std::string> reversed;
  for (auto argument = arguments.rbegin(); argument != arguments.rend(); ++argument) {
    const bool hasEmptyValue = argument->rfind("--", 0) == 0 && argument->size() > 3 &&
                               argument->find('=') == argument->size() - 1;
    if (hasEmptyValue) {
      reversed.emplace_back();
      reversed.push_back(argument->substr(0, argument->size() - 1));
    } else {
      reversed.push_back(*argument);
    }
  }
  return reversed;
}

std::string commandNames() {
  std::string names;
  for (const Command& command : commands())
    names += (names.empty() ? "" : ", ") + std::string(command.name);
  return names;
}

// What is wrong with the command's name, if anything.
std::optional<std::string> commandError(const std::vector<std::string>& arguments) {
  if (arguments.empty()) return fmt::format("name a command: {}", commandNames());
  const std::string& name = arguments.front();
  if (name == "-h" || name == "--help" || name == "--version") return std::nullopt;
  if (name.rfind("-", 0) == 0) {
    return fmt::format("{} stands before the command; name one first: {}", name, commandNames());
  }
  if (isPlannedCommand(name)) return fmt::format("command {} is not built yet", name);
  const auto& all = commands();
  const bool isKnown = std::any_of(all.begin(), all.end(),
                                   [&](const Command& command) { return command.name == name; });
  if (isKnown) return std::nullopt;
  return fmt::format("there is no command \"{}\"; there are {}", engine::model::safeText(name),
                     commandNames());
}

// The sentence for arguments that the parser refused.
std::string parseError(const CLI::ParseError& error) {
  std::string sentence = engine::model::safeText(error.what(), kMaxSentence);
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ArgumentMismatch)) {
    return sentence.substr(0, sentence.find(':')) + " needs a value";
  }
  return sentence;
}

int parseAndRun(const std::vector<std::string>& arguments, CliIo& io) {
  CLI::App app("Serves language models with its own engine, without a window.", "tessera-cli");
  app.require_subcommand(1);
  app.set_version_flag("--version", kVersion);
  std::map<const CLI::App*, CommandRun> runs;
  for (const Command& command : commands()) {
    CLI::App* sub = app.add_subcommand(command.name, command.summary);
    runs[sub] = command.setUp(*sub);
  }
  try {
    app.parse(forParser(arguments));
  } catch (const CLI::Success& asked) {  // --help, --version
    app.exit(asked, io.out, io.err);
    return writeText(io, "");
  } catch (const CLI::ParseError& error) {
    return failUsage(io, parseError(error));
  }
  return runs.at(app.get_subcommands().front())(io);
}

}  // namespace

int runCli(const std::vector<std::string>& arguments, CliIo& io) {
  if (const auto wrong = commandError(arguments)) return failUsage(io, *wrong);
  try {
    return parseAndRun(arguments, io);
  } catch (const std::bad_alloc&) {
    return fail(io, "out of memory");
  } catch (const std::exception& failure) {
    return fail(io, fmt::format("internal error: {}", failure.what()));
  }
}

}  // namespace app::cli
