#include "app/cli/workload_flags.h"

#include <string_view>

#include <fmt/format.h>

#include "app/cli/number_text.h"
#include "engine/sim/workload_file.h"

namespace app::cli {

namespace {

using engine::Result;
using namespace engine::sim;

// Takes what `parse` makes of the value; its Result says what is wrong.
template <typename T, typename Parse>
auto into(T& target, bool& isGiven, Parse parse) {
  return [&target, &isGiven, parse](const std::string& value) {
    auto parsed = parse(value);
    if (!parsed) return false;
    target = *parsed;
    isGiven = true;
    return true;
  };
}

auto wholeInto(std::int64_t& target, bool& isGiven, std::int64_t least, std::int64_t most) {
  return [&target, &isGiven, least, most](const std::string& value) {
    isGiven = true;
    return parseWhole(value, target, least, most);
  };
}

template <typename T>
auto numberInto(T& target, bool& isGiven) {
  return [&target, &isGiven](const std::string& value) {
    isGiven = true;
    return parseNumber(std::string_view(value), target);
  };
}

}  // namespace

void addWorkloadFlags(FlagSet& flags, WorkloadFlags& workload) {
  DrawnWorkloadSpec& drawn = workload.drawn;
  bool& isGiven = workload.hasDrawFlags;
  flags.text("--workload", workload.path, "a workload file, or - for standard input");
  flags.custom("--requests", wholeNumbers<std::int64_t>(1, kMaxDrawnRequests),
               wholeInto(drawn.requests, isGiven, 1, kMaxDrawnRequests));
  flags.custom("--arrival", "closed, poisson, gamma or ramp",
               into(drawn.arrivals.kind, isGiven, parseArrival));
  flags.custom("--rate", "requests a second, 0.000001 to 1000000",
               numberInto(drawn.arrivals.ratePerSecond, isGiven));
  flags.custom("--burstiness", "0.01 to 1000 (1: as poisson)",
               numberInto(drawn.arrivals.burstiness, isGiven));
  flags.custom("--prompt-lengths", "fixed:N, uniform:A:B or lognormal:MU:SIGMA, in tokens",
               into(drawn.promptLengths, isGiven, parseLengths));
  flags.custom("--output-lengths", "fixed:N, uniform:A:B or lognormal:MU:SIGMA, in tokens",
               into(drawn.outputLengths, isGiven, parseLengths));
  flags.custom("--shared-prefix", wholeNumbers<std::int64_t>(0, kMaxSharedPrefix),
               wholeInto(drawn.sharedPrefix, isGiven, 0, kMaxSharedPrefix));
}

std::optional<std::string> workloadFlagsError(const WorkloadFlags& workload) {
  if (!workload.path.empty() && workload.hasDrawFlags) {
    return "--workload names a file; flags that draw a workload go without it";
  }
  const auto checked = checkDrawnWorkload(workload.drawn);
  if (!checked) return "--" + checked.error().message;  // the sentences begin with the flag's name
  return std::nullopt;
}

Result<Workload> openWorkload(CliIo& io,
                              const WorkloadFlags& workload,
                              const engine::SamplingParams& defaults) {
  if (workload.path.empty()) {
    DrawnWorkloadSpec drawn = workload.drawn;
    drawn.seed = defaults.seed;
    return drawWorkload(drawn, defaults);
  }
  auto parsed = parseWorkload(TRY(readFileArgument(io, workload.path)), defaults);
  if (parsed || workload.path == "-") return parsed;
  const engine::Error& error = parsed.error();
  return engine::Error{error.code, fmt::format("{}: {}", workload.path, error.message)};
}

}  // namespace app::cli
