#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "app/cli/commands.h"
#include "app/cli/engine_flags.h"
#include "app/cli/engine_session.h"
#include "app/cli/flag_set.h"
#include "app/cli/interrupt.h"
#include "app/cli/model_choice.h"
#include "app/cli/prompt_synthesis.h"
#include "app/cli/run_report.h"
#include "app/cli/workload_flags.h"
#include "engine/service/prompt_encoder.h"

namespace app::cli {

namespace {

using namespace engine;

constexpr double kFarNs = 4e18;  // 126 years: nobody waits for what comes later

struct RunOptions {
  ModelChoice model;
  EngineConfig config;
  SamplingFlags sampling;
  WorkloadFlags workload;
  bool isAsFastAsPossible = false;
  std::string tracePath;
  bool isJson = false;
};

RequestSpec specOf(const sim::WorkloadRequest& request, int defaultPriority) {
  RequestSpec spec;
  spec.label = request.id;
  spec.sampling = request.sampling;
  spec.priority = request.priority != 0 ? request.priority : defaultPriority;
  spec.slo = request.slo;
  spec.wantRowHashes = true;
  if (const auto* text = std::get_if<TextPrompt>(&request.prompt)) spec.prompt = *text;
  if (const auto* chat = std::get_if<ChatPrompt>(&request.prompt)) spec.prompt = *chat;
  if (const auto* ids = std::get_if<TokenPrompt>(&request.prompt)) spec.prompt = *ids;
  return spec;
}

// For a prompt that was not drawn, since no answer to it could be: as the engine says it.
Answer refusedAsTooLong(std::int64_t promptTokens, std::int64_t maxContext) {
  RequestFinished ended;
  ended.reason = FinishReason::Refused;
  ended.errorCode = ErrorCode::InvalidArgument;
  ended.explanation = service::promptTooLongSentence(promptTokens, maxContext);
  Answer answer;
  answer.finished = std::move(ended);
  return answer;
}

// Requests were sent by time of arrival; they are told of as the file has them.
void sortByPlace(RunOutcome& outcome) {
  std::ranges::stable_sort(outcome.requests, {},
                           [](const RunOutcome::Request& request) { return request.asked->place; });
}

// Sends the workload and waits for its end.
class WorkloadRunner {
 public:
  WorkloadRunner(EngineSession& engine, const sim::Workload& workload, const RunOptions& options)
      : m_engine(engine), m_workload(workload), m_options(options) {}

  RunOutcome run() {
    const std::int64_t startNs = m_engine.nowNs();
    if (m_options.isAsFastAsPossible) {
      sendAllAtOnce();
    } else {
      sendOnTime(startNs);
    }
    m_engine.waitForAll();
    RunOutcome outcome = gather();
    outcome.startNs = startNs;
    outcome.endNs = startNs;
    for (const RunOutcome::Request& request : outcome.requests) {
      if (request.answer && request.answer->finished) {
        outcome.endNs = std::max(outcome.endNs, request.answer->finished->times.finishedNs);
      }
    }
    outcome.last = m_engine.restingSnapshot();
    return outcome;
  }

 private:
  // All in one step, so that the engine's decisions do not depend on who is faster.
  void sendAllAtOnce() {
    m_engine.pause();
    for (const sim::WorkloadRequest& request : m_workload.requests) send(request);
    m_engine.resume();
  }

  void sendOnTime(std::int64_t startNs) {
    for (const sim::WorkloadRequest& request : m_workload.requests) {
      const std::int64_t dueNs = startNs + static_cast<std::int64_t>(std::min(request.atMs * 1e6, kFarNs));
      m_engine.waitUntilTime(dueNs);
      if (m_engine.isCancelled()) return;
      send(request);
    }
  }

  void send(const sim::WorkloadRequest& request) {
    if (std::holds_alternative<sim::SyntheticPrompt>(request.prompt)) {
      m_ids.push_back(std::nullopt);
    } else {
      m_ids.push_back(m_engine.submit(specOf(request, m_options.sampling.priority)));
    }
  }

  RunOutcome gather() const {
    RunOutcome outcome;
    for (std::size_t i = 0; i < m_workload.requests.size(); ++i) {
      RunOutcome::Request request{&m_workload.requests[i], std::nullopt};
      if (i < m_ids.size()) request.answer = answerOf(m_workload.requests[i], m_ids[i]);
      outcome.requests.push_back(std::move(request));
    }
    sortByPlace(outcome);
    return outcome;
  }

  Answer answerOf(const sim::WorkloadRequest& request, std::optional<RequestId> id) const {
    if (id) return m_engine.answer(*id);
    return refusedAsTooLong(std::get<sim::SyntheticPrompt>(request.prompt).tokens,
                            m_engine.model().maxContext);
  }

  EngineSession& m_engine;
  const sim::Workload& m_workload;
  const RunOptions& m_options;
  // Of the requests whose turn has come; none for one that the engine was spared.
  std::vector<std::optional<RequestId>> m_ids;
};

RunOutcome nothingServed(const sim::Workload& workload) {
  RunOutcome outcome;
  for (const sim::WorkloadRequest& request : workload.requests) {
    outcome.requests.push_back({&request, std::nullopt});
  }
  sortByPlace(outcome);
  return outcome;
}

int tellOutcome(CliIo& io, const RunOptions& options, const RunOutcome& outcome) {
  const bool isCancelled = io.cancel.isCancelled();
  if (options.isJson) return writeOutcome(io, runJson(outcome), {}, isCancelled);
  return writeOutcome(io, std::nullopt, runText(outcome), isCancelled);
}

std::optional<std::string> usageError(const RunOptions& options) {
  if (const auto wrong = workloadFlagsError(options.workload)) return wrong;
  if (const auto wrong = engineFlagsError(options.config)) return wrong;
  return samplingFlagsError(options.sampling.params, /*vocabSize=*/0);
}

Result<sim::Workload> prepareWorkload(CliIo& io, const RunOptions& options) {
  TRY_VOID(checkModelExists(options.model));
  return openWorkload(io, options.workload, options.sampling.params);
}

Result<void> drawPrompts(sim::Workload& workload, const RunOptions& options, const ModelInfo& model) {
  if (!needsTokenizer(workload)) return {};
  const auto tokenizer = TRY(openTokenizer(options.model));
  return resolvePrompts(workload, *tokenizer, options.sampling.params.seed, model.maxContext);
}

bool hasChats(const sim::Workload& workload) {
  return std::any_of(workload.requests.begin(), workload.requests.end(), [](const auto& request) {
    return std::holds_alternative<ChatPrompt>(request.prompt);
  });
}

int runRun(CliIo& io, const RunOptions& options) {
  if (const auto wrong = usageError(options)) return failUsage(io, *wrong);
  auto workload = prepareWorkload(io, options);
  if (!workload) return fail(io, workload.error());
  const ScopedInterrupt interrupt(io.cancel);
  EngineConfig config = options.config;
  config.load.modelPath = options.model.path();
  const auto session = EngineSession::open(config, io.cancel, options.tracePath);
  if (!session) {
    if (session.error().code != ErrorCode::Cancelled) return fail(io, session.error());
    return tellOutcome(io, options, nothingServed(*workload));
  }
  EngineSession& engine = **session;
  if (const auto wrong = samplingFlagsError(options.sampling.params, engine.model().vocabSize)) {
    return failUsage(io, *wrong);
  }
  if (const auto drawn = drawPrompts(*workload, options, engine.model()); !drawn) {
    return fail(io, drawn.error());
  }
  const std::string& chatNote = engine.model().chatNote;
  if (!chatNote.empty() && hasChats(*workload)) warn(io, chatNote);
  const RunOutcome outcome = WorkloadRunner(engine, *workload, options).run();
  for (const std::string& notice : engine.notices()) warn(io, notice);
  return tellOutcome(io, options, outcome);
}

}  // namespace

CommandRun setUpRun(CLI::App& app) {
  const auto options = std::make_shared<RunOptions>();
  FlagSet flags(app);
  addWorkloadFlags(flags, options->workload);
  flags.toggle("--as-fast-as-possible", options->isAsFastAsPossible,
               "send all requests at once instead of at their times");
  addModelFlag(flags, options->model);
  addEngineFlags(flags, options->config);
  addTraceFlag(flags, options->tracePath);
  addSamplingFlags(flags, options->sampling);
  flags.toggle("--json", options->isJson,
               "one JSON document: requests, engine, metrics, speculation");
  return [options](CliIo& io) { return runRun(io, *options); };
}

}  // namespace app::cli
