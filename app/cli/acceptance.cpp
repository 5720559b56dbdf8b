#include "app/cli/acceptance.h"

#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "app/cli/number_text.h"

namespace app::cli {

using namespace engine;

namespace {

// Of the guesses that were looked at in each place, the share that held. Later places than any
// guess reached are left out.
Result<std::vector<double>> fromDocument(const std::string& text, const std::string& path) {
  const auto wrong = [&path](const char* what) {
    return Error{ErrorCode::InvalidArgument, fmt::format("{}: {}", path, what)};
  };
  const Json document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object() || !document.contains("speculation")) {
    return wrong("no document with speculation figures");
  }
  const Json& figures = document["speculation"];
  if (!figures.is_object() || !figures.contains("passes") || !figures["passes"].is_number_unsigned() ||
      !figures.contains("accepted_by_position") || !figures["accepted_by_position"].is_array()) {
    return wrong("its speculation lacks passes or accepted_by_position");
  }
  auto looked = figures["passes"].get<double>();
  std::vector<double> chances;
  for (const Json& count : figures["accepted_by_position"]) {
    if (!count.is_number_unsigned() || count.get<double>() > looked) {
      return wrong("accepted_by_position must fall from passes");
    }
    if (looked == 0) break;
    chances.push_back(count.get<double>() / looked);
    looked = count.get<double>();
  }
  if (chances.empty()) return wrong("its run did not speculate");
  return chances;
}

}  // namespace

std::optional<std::string> acceptanceError(const std::string& given) {
  double chance = 0;
  if (!parseNumber(std::string_view(given), chance) || (chance >= 0.0 && chance <= 1.0)) {
    return std::nullopt;
  }
  return fmt::format("--acceptance is {}; it takes 0 to 1, or a file", chance);
}

Result<std::vector<double>> readAcceptance(CliIo& io, const std::string& given) {
  if (auto wrong = acceptanceError(given)) return Error{ErrorCode::InvalidArgument, *std::move(wrong)};
  double chance = 0;
  if (!parseNumber(std::string_view(given), chance)) {
    return fromDocument(TRY(readFileArgument(io, given)), given);
  }
  return std::vector<double>{chance};
}

}  // namespace app::cli
