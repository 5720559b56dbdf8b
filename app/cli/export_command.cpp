#include <memory>
#include <optional>
#include <ostream>
#include <string>

#include "app/cli/commands.h"
#include "app/cli/flag_set.h"
#include "engine/trace/trace_export.h"

namespace app::cli {

namespace {

using namespace engine;

enum class ExportFormat { Chrome, Csv };

struct ExportOptions {
  std::string path;
  std::optional<ExportFormat> format;
};

int runExport(CliIo& io, const ExportOptions& options) {
  if (!options.format) return failUsage(io, "export needs --format chrome or --format csv");
  const auto trace = trace::readTrace(options.path);
  if (!trace) return fail(io, trace.error());
  if (!trace->cutSentence.empty()) warn(io, trace->cutSentence);
  const trace::TraceSummary summary = trace::summariseTrace(*trace);
  if (*options.format == ExportFormat::Chrome) {
    return writeText(io, trace::chromeJson(*trace, summary));
  }
  // two tables with an empty line between them
  return writeText(io, trace::iterationsCsv(summary) + "\n" + trace::requestsCsv(summary));
}

}  // namespace

CommandRun setUpExport(CLI::App& app) {
  const auto options = std::make_shared<ExportOptions>();
  FlagSet flags(app);
  flags.positional("TRACE", options->path, "a recorded run");
  flags.custom("--format", "chrome (also for Perfetto) or csv",
               [target = options.get()](const std::string& value) {
                 if (value == "chrome")
                   target->format = ExportFormat::Chrome;
                 else if (value == "csv")
                   target->format = ExportFormat::Csv;
                 else
                   return false;
                 return true;
               });
  return [options](CliIo& io) { return runExport(io, *options); };
}

}  // namespace app::cli
