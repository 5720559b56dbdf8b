#include "app/cli/cli_io.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <istream>
#include <memory>
#include <ostream>

#include <fmt/format.h>

namespace app::cli {

namespace {

using engine::Error;
using engine::ErrorCode;
using engine::Result;

// An endless file must not take all of the machine's memory.
constexpr std::size_t kMaxTextBytes = std::size_t{1} << 28;

Error tooLong(std::string_view what) {
  return {ErrorCode::InvalidArgument,
          fmt::format("{} is longer than {} bytes, the limit for a text", what, kMaxTextBytes)};
}

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

Error cannotRead(const std::string& path) {
  const ErrorCode code = errno == ENOENT ? ErrorCode::NotFound : ErrorCode::InvalidArgument;
  return {code, fmt::format("cannot read {}: {}", path, std::strerror(errno))};
}

Result<std::string> readStandardInput(CliIo& io) {
  std::string bytes;
  char buffer[1 << 16];
  while (io.in.read(buffer, sizeof buffer) || io.in.gcount() > 0) {
    bytes.append(buffer, static_cast<std::size_t>(io.in.gcount()));
    if (bytes.size() > kMaxTextBytes) return tooLong("standard input");
  }
  if (io.in.bad()) return Error{ErrorCode::InvalidArgument, "cannot read standard input"};
  return bytes;
}

}  // namespace

void warn(CliIo& io, std::string_view sentence) {
  io.err << "tessera-cli: " << sentence << '\n';
}

int fail(CliIo& io, std::string_view sentence) {
  warn(io, sentence);
  return kFailure;
}

int fail(CliIo& io, const engine::Error& error) {
  return fail(io, error.message);
}

int failOrInterrupted(CliIo& io, const engine::Error& error, bool isJson) {
  if (!io.cancel.isCancelled()) return fail(io, error);
  return writeOutcome(io, isJson ? std::optional<Json>(Json::object()) : std::nullopt, {}, true);
}

int failUsage(CliIo& io, std::string_view sentence) {
  fail(io, sentence);
  return kUsage;
}

int writeJson(CliIo& io, const Json& document) {
  // Text of a model may hold bytes that are no characters; JSON may not.
  return writeText(io, document.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n');
}

int writeText(CliIo& io, std::string_view text) {
  io.out << text << std::flush;
  return io.out ? kSuccess : fail(io, "cannot write to standard output");
}

int writeOutcome(CliIo& io, const std::optional<Json>& document, std::string_view text, bool isCancelled) {
  int code = kSuccess;
  if (document) {
    Json whole = *document;
    if (isCancelled) whole["cancelled"] = true;
    code = writeJson(io, whole);
  } else {
    code = writeText(io, text);
  }
  if (code != kSuccess) return code;
  return isCancelled ? kInterrupted : kSuccess;
}

Result<std::string> readTextArgument(CliIo& io, const std::string& argument) {
  if (argument == "-") return readStandardInput(io);
  return argument;
}

Result<std::string> readFile(const std::string& path) {
  errno = 0;
  const std::unique_ptr<std::FILE, FileCloser> file(std::fopen(path.c_str(), "rb"));
  if (!file) return cannotRead(path);
  std::string bytes;
  char buffer[1 << 16];
  while (const std::size_t count = std::fread(buffer, 1, sizeof buffer, file.get())) {
    bytes.append(buffer, count);
    if (bytes.size() > kMaxTextBytes) return tooLong(path);
  }
  if (std::ferror(file.get())) return cannotRead(path);
  return bytes;
}

Result<std::string> readFileArgument(CliIo& io, const std::string& argument) {
  return argument == "-" ? readStandardInput(io) : readFile(argument);
}

}  // namespace app::cli
