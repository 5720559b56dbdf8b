#include <map>
#include <memory>
#include <ostream>
#include <string>

#include <fmt/format.h>

#include "app/cli/commands.h"
#include "app/cli/flag_set.h"
#include "engine/trace/trace_summary.h"

namespace app::cli {

namespace {

using namespace engine;
using trace::RequestSummary;

struct ReplayOptions {
  std::string path;
  bool isJson = false;
};

double durationMs(const trace::Trace& trace) {
  return static_cast<double>(trace.endNs() - trace.beginNs()) / 1e6;
}

// "open" for a request that had not ended when the recording did.
const char* endName(const RequestSummary& request) {
  return request.reason == FinishReason::None ? "open" : finishReasonName(request.reason);
}

std::map<std::string, int> countEnds(const trace::TraceSummary& summary) {
  std::map<std::string, int> ends;
  for (const RequestSummary& request : summary.requests) ++ends[endName(request)];
  return ends;
}

std::shared_ptr<const ModelInfo> modelOf(const trace::Trace& trace) {
  return trace.header.model;
}

const char* endNameOf(const RequestSummary& request, std::size_t choice) {
  if (choice >= request.choices.size()) return endName(request);
  const FinishReason reason = request.choices[choice].reason;
  return reason == FinishReason::None ? "open" : finishReasonName(reason);
}

// Of a request for several answers: all of them, the first included.
Json choicesJson(const RequestSummary& request) {
  Json choices = Json::array();
  const auto add = [&](const trace::AnswerSummary& answer) {
    choices.push_back({{"finish_reason", endNameOf(request, choices.size())},
                       {"ids", answer.ids},
                       {"text", answer.text}});
  };
  add(request);
  for (const trace::AnswerSummary& other : request.others) add(other);
  return choices;
}

std::size_t numTokens(const RequestSummary& request) {
  std::size_t sum = request.ids.size();
  for (const trace::AnswerSummary& other : request.others) sum += other.ids.size();
  return sum;
}

Json requestJson(const RequestSummary& request) {
  Json document = {{"id", request.id.value},
                   {"label", request.label},
                   {"finish_reason", endName(request)},
                   {"prompt_tokens", request.usage.promptTokens},
                   {"completion_tokens", numTokens(request)},
                   {"cached_tokens", request.usage.cachedTokens},
                   {"preemptions", request.preemptions},
                   {"ids", request.ids},
                   {"text", request.text}};
  if (!request.others.empty()) document["choices"] = choicesJson(request);
  if (!request.explanation.empty()) document["reason"] = request.explanation;
  return document;
}

Json summaryJson(const trace::Trace& trace, const trace::TraceSummary& summary) {
  Json requests = Json::array();
  for (const RequestSummary& request : summary.requests) requests.push_back(requestJson(request));
  const auto model = modelOf(trace);
  return {{"version", trace.version},
          {"program", trace.header.program},
          {"whole", trace.cutSentence.empty()},
          {"cut", trace.cutSentence.empty() ? Json() : Json(trace.cutSentence)},
          {"model", model ? Json(model->name) : Json()},
          {"duration_ms", durationMs(trace)},
          {"steps", summary.iterations.size()},
          {"events", trace.events.size()},
          {"snapshots", trace.snapshots.size()},
          {"prompt_tokens", summary.promptTokens},
          {"generated_tokens", summary.generatedTokens},
          {"preemptions", summary.preemptions},
          {"lost_events", summary.lostEvents},
          {"ends", countEnds(summary)},
          {"fingerprint", fmt::format("{:016x}", summary.fingerprint)},
          {"requests", std::move(requests)}};
}

std::string summaryText(const trace::Trace& trace, const trace::TraceSummary& summary) {
  const auto model = modelOf(trace);
  std::string ends;
  for (const auto& [name, count] : countEnds(summary)) ends += fmt::format(", {} {}", count, name);
  return fmt::format(
      "recorded by   {}, trace version {}\n"
      "model         {}\n"
      "duration      {:.3f} s\n"
      "iterations    {}\n"
      "requests      {}{}\n"
      "tokens        {} prompt, {} generated\n"
      "preemptions   {}\n"
      "events        {}, {} lost\n"
      "fingerprint   {:016x}\n",
      trace.header.program, trace.version, model ? model->name : "none",
      durationMs(trace) / 1e3, summary.iterations.size(), summary.requests.size(), ends,
      summary.promptTokens, summary.generatedTokens, summary.preemptions, trace.events.size(),
      summary.lostEvents, summary.fingerprint);
}

int runReplay(CliIo& io, const ReplayOptions& options) {
  const auto trace = trace::readTrace(options.path);
  if (!trace) return fail(io, trace.error());
  if (!trace->cutSentence.empty()) warn(io, trace->cutSentence);
  const trace::TraceSummary summary = trace::summariseTrace(*trace);
  return options.isJson ? writeJson(io, summaryJson(*trace, summary))
                        : writeText(io, summaryText(*trace, summary));
}

}  // namespace

CommandRun setUpReplay(CLI::App& app) {
  const auto options = std::make_shared<ReplayOptions>();
  FlagSet flags(app);
  flags.positional("TRACE", options->path, "a recorded run");
  flags.toggle("--json", options->isJson, "one JSON document: steps, tokens, ends, requests");
  return [options](CliIo& io) { return runReplay(io, *options); };
}

}  // namespace app::cli
