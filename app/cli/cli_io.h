// What a command reads, writes and returns.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "engine/base/cancel_token.h"
#include "engine/base/result.h"

namespace app::cli {

enum ExitCode : int {
  kSuccess = 0,
  kFailure = 1,  // a file, the prompt or the machine
  kUsage = 2,    // an unknown flag, a value out of its range
  kInterrupted = 130,
};

// Key order as written.
using Json = nlohmann::ordered_json;

struct CliIo {
  std::istream& in;
  std::ostream& out;  // the document or the text, nothing else; empty after a failure
  std::ostream& err;
  // Raised by Ctrl-C while a ScopedInterrupt lives.
  engine::CancelToken& cancel;
  bool isTerminal = false;  // `out` is a person's screen
};

// One line on standard error.
void warn(CliIo& io, std::string_view sentence);

// As warn; the exit code to return.
int fail(CliIo& io, std::string_view sentence);
int fail(CliIo& io, const engine::Error& error);
// For commands that have nothing before they end: after Ctrl-C a document that says `cancelled`.
int failOrInterrupted(CliIo& io, const engine::Error& error, bool isJson);
int failUsage(CliIo& io, std::string_view sentence);

// Writes the document on one line, or `text` as it is. kFailure when standard output takes no more.
int writeJson(CliIo& io, const Json& document);
int writeText(CliIo& io, std::string_view text);

// The end of a command that Ctrl-C may cut short: writes the document, with `cancelled` when it was,
// or `text` when `document` is not wanted.
int writeOutcome(CliIo& io, const std::optional<Json>& document, std::string_view text, bool isCancelled);

// `argument` itself, or for "-" all of standard input byte for byte.
engine::Result<std::string> readTextArgument(CliIo& io, const std::string& argument);
// A file's bytes. NotFound, or InvalidArgument with the system's reason.
engine::Result<std::string> readFile(const std::string& path);
// A file's bytes, or for "-" those of standard input.
engine::Result<std::string> readFileArgument(CliIo& io, const std::string& argument);

}  // namespace app::cli
