// Runs tessera-cli inside the test process.
#pragma once

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "app/cli/cli.h"

namespace test_support {

struct CliOutcome {
  int exitCode = -1;
  std::string out, err;

  // The document on standard output; a discarded value when there is none.
  nlohmann::json json() const { return nlohmann::json::parse(out, nullptr, false); }

  // A failure as the contract wants it: this exit code, nothing on standard output, one line on
  // standard error.
  bool isCleanFailure(int code) const {
    return exitCode == code && out.empty() && err.size() > 1 && err.back() == '\n' &&
           std::count(err.begin(), err.end(), '\n') == 1;
  }
};

// Inline: the tests link app_cli, the support library does not.
inline CliOutcome runCli(const std::vector<std::string>& arguments, const std::string& input = {}) {
  std::istringstream in(input);
  std::ostringstream out, err;
  engine::CancelToken cancel;
  app::cli::CliIo io{in, out, err, cancel};
  CliOutcome outcome;
  outcome.exitCode = app::cli::runCli(arguments, io);
  outcome.out = out.str();
  outcome.err = err.str();
  return outcome;
}

}  // namespace test_support
