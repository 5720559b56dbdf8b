// tessera-cli: everything headless.
#include <csignal>
#include <iostream>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <fcntl.h>
#include <unistd.h>

#include "app/cli/cli.h"

namespace {

// Whoever starts this with a stream closed must not find the text in the next file that is opened: it
// would get the stream's number. True when the descriptor was open.
bool holdDescriptor(int descriptor) {
  if (fcntl(descriptor, F_GETFD) != -1) return true;
  const int hold = open("/dev/null", O_RDWR);  // the lowest number that is free
  if (hold >= 0 && hold != descriptor) {
    dup2(hold, descriptor);
    close(hold);
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  if (!holdDescriptor(STDIN_FILENO)) std::cin.setstate(std::ios::badbit);
  if (!holdDescriptor(STDOUT_FILENO)) std::cout.setstate(std::ios::badbit);
  holdDescriptor(STDERR_FILENO);
  // a reader that goes away is a failed write, told like any other
  std::signal(SIGPIPE, SIG_IGN);
  // as is a file at the size that the system allows
  std::signal(SIGXFSZ, SIG_IGN);
  // standard output is for the document alone
  spdlog::set_default_logger(spdlog::stderr_logger_mt("tessera-cli"));
  engine::CancelToken cancel;
  app::cli::CliIo io{std::cin, std::cout, std::cerr, cancel, isatty(STDOUT_FILENO) == 1};
  return app::cli::runCli({argv + 1, argv + argc}, io);
}
