// Runs tessera-cli inside the test process.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <sstream>
#include <string>
#include <thread>
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
inline CliOutcome runCliWith(const std::vector<std::string>& arguments,
                             const std::string& input,
                             std::ostringstream& out,
                             engine::CancelToken& cancel) {
  setenv("TESSERA_PACKED_CACHE", "off", 0);  // not the user's own, unless a test names a folder
  std::istringstream in(input);
  std::ostringstream err;
  app::cli::CliIo io{in, out, err, cancel};
  CliOutcome outcome;
  outcome.exitCode = app::cli::runCli(arguments, io);
  outcome.out = out.str();
  outcome.err = err.str();
  return outcome;
}

inline CliOutcome runCli(const std::vector<std::string>& arguments, const std::string& input = {}) {
  std::ostringstream out;
  engine::CancelToken cancel;
  return runCliWith(arguments, input, out, cancel);
}

// As if Ctrl-C were pressed so long after the start.
inline CliOutcome runCliAndCancel(const std::vector<std::string>& arguments,
                                  std::chrono::milliseconds after) {
  std::ostringstream out;
  engine::CancelToken cancel;
  std::jthread person([&cancel, after](const std::stop_token& stop) {
    const auto end = std::chrono::steady_clock::now() + after;
    while (!stop.stop_requested() && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    cancel.cancel();
  });
  return runCliWith(arguments, {}, out, cancel);
}

}  // namespace test_support
