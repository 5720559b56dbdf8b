#include "engine/sim/workload_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "engine/base/json_nesting.h"
#include "engine/sim/workload_row.h"

namespace engine::sim {

namespace {

using nlohmann::ordered_json;

Error badRow(std::size_t number, std::string_view why) {
  return {ErrorCode::InvalidArgument, fmt::format("row {}: {}", number, why)};
}

std::optional<std::string> nestingError(std::string_view json) {
  const int depth = jsonNesting(json);
  if (depth <= kMaxJsonNesting) return std::nullopt;
  return fmt::format("nests {} levels deep; the limit is {}", depth, kMaxJsonNesting);
}

struct Line {
  std::size_t number;
  std::string_view text;
};

std::vector<Line> linesOf(std::string_view text) {
  std::vector<Line> lines;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.find_first_not_of(" \t") != std::string_view::npos) lines.push_back({number, line});
  }
  return lines;
}

// Commas inside double quotes do not separate.
std::vector<std::string> fieldsOf(std::string_view line) {
  std::vector<std::string> fields(1);
  bool isQuoted = false;
  for (char c : line) {
    if (c == '"') {
      isQuoted = !isQuoted;
    } else if (c == ',' && !isQuoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

std::optional<double> numberOf(const std::string& field) {
  double value = 0;
  const char* end = field.data() + field.size();
  const auto [at, failed] = std::from_chars(field.data(), end, value);
  if (failed != std::errc() || at != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

// "2023-11-16 18:15:46.6805900" in milliseconds since 1970, or plain seconds as a number.
std::optional<double> timestampMs(const std::string& field) {
  if (const auto seconds = numberOf(field)) return *seconds * 1000.0;
  int year = 0, month = 0, day = 0, hour = 0, minute = 0;
  double second = 0;
  if (std::sscanf(field.c_str(), "%d-%d-%d %d:%d:%lf", &year, &month, &day, &hour, &minute, &second) != 6) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  return ((static_cast<double>(days) * 24 + hour) * 60 + minute) * 60000.0 + second * 1000.0;
}

// Which columns of a CSV hold time, prompt length and output length.
struct CsvColumns {
  std::size_t time, prompt, output;
};

Result<WorkloadRequest> csvRow(const Line& line, const CsvColumns& columns, const SamplingParams& defaults) {
  const std::vector<std::string> fields = fieldsOf(line.text);
  if (fields.size() <= std::max({columns.time, columns.prompt, columns.output})) {
    return badRow(line.number, fmt::format("has {} fields", fields.size()));
  }
  const auto time = timestampMs(fields[columns.time]);
  if (!time) return badRow(line.number, fmt::format("\"{}\" is no time", fields[columns.time]));
  WorkloadRequest request;
  request.atMs = *time;
  request.sampling = defaults;
  request.sampling.ignoreEos = true;  // recorded lengths hold
  std::int64_t lengths[2] = {0, 0};
  const std::size_t places[2] = {columns.prompt, columns.output};
  for (int i = 0; i < 2; ++i) {
    const auto length = numberOf(fields[places[i]]);
    if (!length || *length < 0 || *length > 1e9 || *length != std::floor(*length)) {
      return badRow(line.number, fmt::format("\"{}\" is no number of tokens", fields[places[i]]));
    }
    lengths[i] = std::max<std::int64_t>(1, static_cast<std::int64_t>(*length));
  }
  request.prompt = SyntheticPrompt{lengths[0], 0, {}};
  request.sampling.maxTokens = lengths[1];
  return request;
}

Result<Workload> parseCsv(const std::vector<Line>& lines,
                          WorkloadFormat format,
                          const CsvColumns& columns,
                          const SamplingParams& defaults) {
  Workload workload;
  workload.format = format;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    workload.requests.push_back(TRY(csvRow(lines[i], columns, defaults)));
  }
  return workload;
}

Result<WorkloadRequest> mooncakeRow(const ordered_json& row, const SamplingParams& defaults) {
  ordered_json ours;
  ours["at_ms"] = row.at("timestamp");
  ours["prompt_tokens"] = row.value("input_length", ordered_json());
  ours["max_tokens"] = row.value("output_length", ordered_json());
  if (row.contains("hash_ids")) ours["hash_ids"] = row.at("hash_ids");
  ours["ignore_eos"] = true;
  return parseWorkloadRow(ours, defaults);
}

Result<Workload> parseJsonLines(const std::vector<Line>& lines, const SamplingParams& defaults) {
  Workload workload;
  std::unordered_map<std::string, std::size_t> rows;  // that have an id of their own
  const auto rowOfId = [&rows](const std::string& id, std::size_t number) -> std::optional<std::size_t> {
    if (id.empty()) return std::nullopt;
    const auto [found, isNew] = rows.emplace(id, number);
    return isNew ? std::nullopt : std::optional(found->second);
  };
  for (const Line& line : lines) {
    if (const auto tooDeep = nestingError(line.text)) return badRow(line.number, *tooDeep);
    const ordered_json row = ordered_json::parse(line.text, nullptr, false);
    if (row.is_discarded()) return badRow(line.number, "is not JSON");
    const bool isMooncake = row.is_object() && row.contains("timestamp") && row.contains("input_length");
    if (isMooncake) workload.format = WorkloadFormat::Mooncake;
    auto request = isMooncake ? mooncakeRow(row, defaults) : parseWorkloadRow(row, defaults);
    if (!request) return badRow(line.number, request.error().message);
    if (const auto taken = rowOfId(request->id, line.number)) {
      return badRow(line.number, fmt::format("\"id\" {} is that of row {} already; each row needs its own",
                                             request->id, *taken));
    }
    workload.requests.push_back(std::move(*request));
  }
  return workload;
}

// The first question and answer of each conversation; others are left out, as the field does.
Result<Workload> parseShareGpt(const ordered_json& entries, const SamplingParams& defaults) {
  Workload workload;
  workload.format = WorkloadFormat::ShareGpt;
  std::size_t number = 0;
  for (const ordered_json& entry : entries) {
    ++number;
    if (!entry.is_object() || !entry.contains("conversations") || !entry.at("conversations").is_array()) {
      return badRow(number, "has no list of \"conversations\"");
    }
    const ordered_json& turns = entry.at("conversations");
    if (turns.size() < 2) continue;
    for (int i = 0; i < 2; ++i) {
      const ordered_json& turn = turns[static_cast<std::size_t>(i)];
      if (!turn.is_object() || !turn.contains("value") || !turn.at("value").is_string()) {
        return badRow(number, fmt::format("turn {} has no \"value\" string", i + 1));
      }
    }
    WorkloadRequest request;
    if (entry.contains("id") && entry.at("id").is_string()) request.id = entry.at("id").get<std::string>();
    request.prompt = TextPrompt{turns[0].at("value").get<std::string>()};
    request.referenceAnswer = turns[1].at("value").get<std::string>();
    request.sampling = defaults;
    request.sampling.ignoreEos = true;
    workload.requests.push_back(std::move(request));
  }
  return workload;
}

Result<Workload> parseAnyFormat(std::string_view text, const SamplingParams& defaults) {
  const std::vector<Line> lines = linesOf(text);
  if (lines.empty()) return Error{ErrorCode::InvalidArgument, "the workload is empty"};
  const std::string_view head = lines.front().text;
  if (head.starts_with("TIMESTAMP,ContextTokens,GeneratedTokens")) {
    return parseCsv(lines, WorkloadFormat::AzureCsv, {0, 1, 2}, defaults);
  }
  if (head.starts_with("Timestamp,Model,Request tokens,Response tokens")) {
    return parseCsv(lines, WorkloadFormat::BurstGptCsv, {0, 2, 3}, defaults);
  }
  if (head.find_first_not_of(" \t") != std::string_view::npos && head[head.find_first_not_of(" \t")] == '[') {
    if (const auto tooDeep = nestingError(text)) return Error{ErrorCode::InvalidArgument, "the list " + *tooDeep};
    const ordered_json entries = ordered_json::parse(text, nullptr, false);
    if (entries.is_discarded() || !entries.is_array()) {
      return Error{ErrorCode::InvalidArgument, "begins like a JSON list, but is not one"};
    }
    return parseShareGpt(entries, defaults);
  }
  return parseJsonLines(lines, defaults);
}

// A number for each request without an id. Answers are told apart by it, so none is given twice; a
// dataset's own doubles are told apart too.
void nameTheNameless(Workload& workload) {
  std::unordered_set<std::string> taken;
  for (WorkloadRequest& request : workload.requests) {
    if (!request.id.empty() && !taken.insert(request.id).second) request.id.clear();
  }
  for (std::size_t i = 0; i < workload.requests.size(); ++i) {
    std::string& id = workload.requests[i].id;
    if (!id.empty()) continue;
    for (id = std::to_string(i); !taken.insert(id).second;) id += '\'';
  }
}

}  // namespace

Result<Workload> parseWorkload(std::string_view text, const SamplingParams& defaults) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  Workload workload = TRY(parseAnyFormat(text, defaults));
  if (workload.requests.empty()) {
    return Error{ErrorCode::InvalidArgument, "the workload holds no request"};
  }
  std::size_t place = 0;
  for (WorkloadRequest& request : workload.requests) request.place = place++;
  std::ranges::stable_sort(workload.requests, {}, &WorkloadRequest::atMs);
  if (workload.format != WorkloadFormat::Tessera) {  // recorded clocks start anywhere
    const double start = workload.requests.front().atMs;
    for (WorkloadRequest& request : workload.requests) request.atMs -= start;
  }
  nameTheNameless(workload);
  return workload;
}

Result<Workload> readWorkloadFile(const std::string& path, const SamplingParams& defaults) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{ErrorCode::NotFound, fmt::format("cannot read the workload {}", path)};
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  auto workload = parseWorkload(text, defaults);
  if (!workload) return Error{workload.error().code, fmt::format("{}: {}", path, workload.error().message)};
  return workload;
}

}  // namespace engine::sim
