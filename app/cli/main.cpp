// tessera-cli: everything headless.
#include <iostream>

#include "app/cli/cli.h"

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  engine::CancelToken cancel;
  app::cli::CliIo io{std::cin, std::cout, std::cerr, cancel};
  return app::cli::runCli({argv + 1, argv + argc}, io);
}
