// tessera-cli: everything headless.
#include <iostream>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "app/cli/cli.h"

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  // standard output is for the document alone
  spdlog::set_default_logger(spdlog::stderr_logger_mt("tessera-cli"));
  engine::CancelToken cancel;
  app::cli::CliIo io{std::cin, std::cout, std::cerr, cancel, isatty(STDOUT_FILENO) == 1};
  return app::cli::runCli({argv + 1, argv + argc}, io);
}
