#include "tests/support/fake_engine_handle.h"

#include <algorithm>
#include <utility>

namespace tests {

using namespace engine;

namespace {

constexpr std::int64_t kStepNs = 5'000'000;

std::shared_ptr<const ModelInfo> fakeModel(const std::string& path, std::int64_t maxContext) {
  auto info = std::make_shared<ModelInfo>();
  info->path = path;
  const auto slash = path.rfind('/');
  info->name = slash == std::string::npos ? path : path.substr(slash + 1);
  if (const auto dot = info->name.find('.'); dot != std::string::npos) info->name.resize(dot);
  info->architecture = "llama";
  info->quantisation = "Q4_1";
  info->parameters = 134'515'008;
  info->fileBytes = 92'000'000;
  info->trainedContext = info->maxContext = maxContext;
  info->vocabSize = 49152;
  info->hasChatTemplate = info->hasTools = true;
  info->backend = "CPU";
  info->isa = "avx512vnni";
  info->threads = 2;
  return info;
}

}  // namespace

std::vector<std::string> piecesOf(const std::string& text) {
  std::vector<std::string> pieces;
  std::string piece;
  for (char c : text) {
    if ((c == ' ' || c == '\n') && !piece.empty()) {
      pieces.push_back(std::move(piece));
      piece.clear();
    }
    piece += c;
  }
  if (!piece.empty()) pieces.push_back(piece);
  return pieces;
}

FakeEngineHandle::FakeEngineHandle() {
  replyTo = [](const RequestSpec&) { return FakeReply{piecesOf("A short answer."), {}, {}}; };
  m_state.state = EngineState::NoModel;
  publish();
}

EngineCapabilities FakeEngineHandle::capabilities() const {
  return {.canLoad = true, .canSubmit = true, .canPause = true, .hasLiveKnobs = true, .hasBlocks = true,
          .hasEvents = true};
}

void FakeEngineHandle::publish() {
  if (holdsSnapshots) return;
  ++m_state.version;
  m_state.timeNs = m_nowNs;
  m_state.requests.clear();
  for (const auto& r : m_running) m_state.requests.push_back(r.view);
  for (const auto& r : m_finished) m_state.requests.push_back(r);
  m_published = std::make_shared<EngineSnapshot>(m_state);
}

bool FakeEngineHandle::isBusy() const { return m_loadStep >= 0 || !m_running.empty(); }

void FakeEngineHandle::loadAtOnce(const std::string& path) {
  LoadModel load;
  load.config.load.modelPath = path;
  handle(load);
  while (m_loadStep >= 0) stepLoad();
  publish();
}

void FakeEngineHandle::submit(Command command) {
  commands.push_back(command);
  if (auto* load = std::get_if<LoadModel>(&command)) handle(*load);
  if (auto* submit = std::get_if<Submit>(&command)) handle(*submit);
  if (auto* cancel = std::get_if<Cancel>(&command)) handle(*cancel);
  if (auto* query = std::get_if<Query>(&command)) handle(*query);
  if (auto* limits = std::get_if<SetLimits>(&command)) m_state.config.limits = limits->limits;
  if (auto* step = std::get_if<StepOnce>(&command)) m_stepsAllowed += step->count;
  if (std::holds_alternative<CancelLoad>(command) && m_loadStep >= 0) {
    m_loadStep = -1;
    m_state.state = m_state.model ? EngineState::Idle : EngineState::NoModel;
    m_messages.push_back(LoadFailed{m_loading.load.modelPath, {ErrorCode::Cancelled, "The load was cancelled."}});
  }
  if (std::holds_alternative<UnloadModel>(command)) {
    m_state.model = nullptr;
    m_state.state = EngineState::NoModel;
    m_messages.push_back(ModelUnloaded{});
  }
  if (std::holds_alternative<Pause>(command)) m_state.state = EngineState::Paused;
  if (std::holds_alternative<Resume>(command)) {
    m_state.state = m_running.empty() ? EngineState::Idle : EngineState::Running;
  }
  publish();
}

void FakeEngineHandle::handle(const LoadModel& load) {
  m_loading = load.config;
  m_loadStep = 0;
  m_state.state = EngineState::Loading;
  while (!m_running.empty()) finish(m_running.front(), FinishReason::Cancelled, "");
}

void FakeEngineHandle::handle(const Submit& submit) {
  Running running;
  running.spec = submit.spec;
  if (!m_state.model) {
    RequestFinished refused;
    refused.request = submit.spec.id;
    refused.reason = FinishReason::Refused;
    refused.explanation = "No model is loaded.";
    refused.errorCode = ErrorCode::InvalidArgument;
    m_messages.push_back(refused);
    return;
  }
  running.reply = replyTo(submit.spec);
  if (running.reply.finish == FinishReason::Refused) {
    finish(running, FinishReason::Refused, running.reply.explanation);
    return;
  }
  auto& view = running.view;
  view.id = submit.spec.id;
  view.label = submit.spec.label;
  view.state = RequestState::Waiting;
  view.promptTokens = running.reply.promptTokens;
  view.cachedTokens = view.computedTokens = running.reply.cachedTokens;
  view.totalTokens = view.promptTokens;
  view.maxTokens = submit.spec.sampling.maxTokens;
  view.times.arrivalNs = view.times.tokenisedNs = m_nowNs;
  m_messages.push_back(RequestStarted{submit.spec.id, {}});
  m_running.push_back(std::move(running));
}

void FakeEngineHandle::handle(const Cancel& cancel) {
  for (auto& running : m_running) {
    if (running.view.id != cancel.id) continue;
    finish(running, FinishReason::Cancelled, "");
    return;
  }
}

void FakeEngineHandle::handle(const Query& query) {
  QueryAnswer answer{query.id, std::vector<TokenId>{}};
  if (const auto* count = std::get_if<CountTokensQuery>(&query.question)) {
    answer.answer = std::vector<TokenId>(count->conversation.conversationJson.size() / 4, 1);
  } else if (const auto* text = std::get_if<TokenizeQuery>(&query.question)) {
    answer.answer = std::vector<TokenId>(text->text.size() / 4, 1);
  } else if (const auto* question = std::get_if<EstimateQuery>(&query.question)) {
    if (question->config.modelPath.find("missing") != std::string::npos) {
      answer.answer = Error{ErrorCode::NotFound, "There is no file " + question->config.modelPath + "."};
    } else {
      answer.answer = estimate(question->config);
    }
  }
  m_messages.push_back(answer);
}

MemoryEstimate FakeEngineHandle::estimate(const LoadConfig& config) const {
  const std::int64_t perToken = config.kvDtype == KvDType::F32 ? 46080 : 23040;
  const std::int64_t kv = config.kvBlocks > 0 ? config.kvBlocks * config.blockSize * perToken
                          : config.kvMemoryBytes > 0 ? config.kvMemoryBytes
                                                     : std::min<std::int64_t>(freeBytes / 4, 4'294'967'296);
  MemoryEstimate out;
  out.items = {{"weights", 92'000'000, "packed for avx512vnni"},
               {"KV pool", kv, std::to_string(kv / perToken / config.blockSize) + " blocks"},
               {"activations", 24'000'000, "512 rows a step"}};
  for (const auto& item : out.items) out.totalBytes += item.bytes;
  out.freeBytes = freeBytes;
  out.kvCapacityTokens = kv / perToken;
  return out;
}

void FakeEngineHandle::stepLoad() {
  ++m_loadStep;
  const std::string path = m_loading.load.modelPath;
  m_messages.push_back(LoadProgress{"packing", static_cast<double>(m_loadStep) / loadSteps, 92'000'000});
  if (m_loadStep < loadSteps) return;
  m_loadStep = -1;
  if (path.find("broken") != std::string::npos) {
    m_state.state = m_state.model ? EngineState::Idle : EngineState::NoModel;
    m_messages.push_back(LoadFailed{path, {ErrorCode::CorruptFile, "The file " + path +
                                           " ends at byte 1,024; its header announces 92,000,000."}});
    return;
  }
  m_state.config = m_loading;
  m_state.model = fakeModel(path, maxContext);
  m_state.state = EngineState::Idle;
  m_state.blocks.assign(static_cast<std::size_t>(numBlocks), {});
  m_state.pool = PoolSummary{.blockSize = blockSize, .numBlocks = numBlocks, .freeBlocks = numBlocks};
  m_messages.push_back(ModelLoaded{m_state.model});
}

void FakeEngineHandle::advance(int steps) {
  for (int i = 0; i < steps; ++i) {
    m_nowNs += kStepNs;
    if (m_loadStep >= 0) stepLoad();
    const bool isPaused = m_state.state == EngineState::Paused;
    if (!isPaused || m_stepsAllowed > 0) {
      if (isPaused) --m_stepsAllowed;
      stepRequests();
    }
  }
  publish();
}

void FakeEngineHandle::stepRequests() {
  if (m_running.empty()) return;
  if (m_state.state != EngineState::Paused) m_state.state = EngineState::Running;
  IterationRecord iteration{};
  iteration.id = ++m_step;
  iteration.t0Ns = m_nowNs - kStepNs;
  iteration.t1Ns = m_nowNs;
  iteration.budget = static_cast<std::uint32_t>(m_state.config.limits.maxBatchedTokens);
  iteration.running = static_cast<std::uint32_t>(m_running.size());
  iteration.limit = Reason::LimitQueueEmpty;
  m_state.lastStep = StepSummary{.id = StepId(m_step), .t0Ns = iteration.t0Ns, .t1Ns = m_nowNs,
                                 .budget = static_cast<int>(iteration.budget),
                                 .limit = iteration.limit, .decisions = {}};
  for (std::size_t i = 0; i < m_running.size();) {
    const std::size_t before = m_running.size();
    stepOne(m_running[i], iteration);
    if (m_running.size() == before) ++i;
  }
  m_state.lastStep.prefillTokens = static_cast<int>(iteration.prefillTokens);
  m_state.lastStep.decodeTokens = static_cast<int>(iteration.decodeTokens);
  m_state.counters.steps = m_step;
  iteration.freeBlocks = static_cast<std::uint32_t>(m_state.pool->freeBlocks);
  iteration.cachedBlocks = static_cast<std::uint32_t>(m_state.pool->cachedBlocks);
  m_events.emplace_back(iteration);
  m_state.decodeTokensPerSecond = static_cast<double>(iteration.decodeTokens) * 1e9 / kStepNs;
  if (m_running.empty() && m_state.state == EngineState::Running) m_state.state = EngineState::Idle;
}

void FakeEngineHandle::stepOne(Running& running, IterationRecord& iteration) {
  auto& view = running.view;
  SliceRecord slice{};
  slice.iteration = m_step;
  slice.request = view.id.value;
  if (running.prefillDone < running.reply.prefillSteps) {
    if (view.times.admittedNs < 0) view.times.admittedNs = m_nowNs - kStepNs;
    const std::int64_t missing = view.promptTokens - view.computedTokens;
    const std::int64_t chunk = missing / (running.reply.prefillSteps - running.prefillDone);
    view.computedTokens += chunk;
    view.state = RequestState::Prefilling;
    view.reason = Reason::PrefillChunk;
    ++running.prefillDone;
    slice.phase = SlicePhase::Prefill;
    slice.tokens = static_cast<std::uint32_t>(chunk);
    iteration.prefillTokens += slice.tokens;
    takeBlocks(running);
    m_events.emplace_back(slice);
    m_state.lastStep.decisions.push_back({view.id, Reason::PrefillChunk, chunk, chunk, missing});
    return;
  }
  if (view.state != RequestState::Decoding) view.times.prefilledNs = m_nowNs - kStepNs;
  view.state = RequestState::Decoding;
  view.reason = Reason::DecodeNext;
  if (running.nextPiece >= running.reply.pieces.size()) {
    finish(running, running.reply.finish == FinishReason::None ? FinishReason::Stop : running.reply.finish,
           running.reply.explanation);
    return;
  }
  SampledToken token;
  token.id = static_cast<TokenId>(100 + running.nextPiece);
  token.logprob = -0.5f;
  m_messages.push_back(TextDelta{view.id, running.reply.pieces[running.nextPiece++], {token}});
  if (view.times.firstTokenNs < 0) view.times.firstTokenNs = m_nowNs;
  view.times.lastTokenNs = m_nowNs;
  ++view.outputTokens;
  ++view.totalTokens;
  ++view.computedTokens;
  view.tokensPerSecond = 1e9 / kStepNs;
  slice.phase = SlicePhase::Decode;
  slice.tokens = 1;
  ++iteration.decodeTokens;
  takeBlocks(running);
  m_events.emplace_back(slice);
  m_state.lastStep.decisions.push_back({view.id, Reason::DecodeNext, 1, 0, 0});
  if (view.outputTokens >= view.maxTokens) finish(running, FinishReason::Length, "");
}

void FakeEngineHandle::takeBlocks(Running& running) {
  const auto wanted = static_cast<std::size_t>((running.view.totalTokens + blockSize - 1) / blockSize);
  for (std::size_t i = 0; i < m_state.blocks.size() && running.view.blocks.size() < wanted; ++i) {
    auto& block = m_state.blocks[i];
    if (block.state == BlockState::Used) continue;
    if (block.state == BlockState::Cached) --m_state.pool->cachedBlocks; else --m_state.pool->freeBlocks;
    block = BlockSnapshot{.state = BlockState::Used, .owner = running.view.id, .refCount = 1,
                          .filled = static_cast<std::uint16_t>(blockSize),
                          .logical = static_cast<std::int32_t>(running.view.blocks.size()),
                          .allocatedStep = m_step, .lastUsedStep = m_step};
    ++m_state.pool->usedBlocks;
    running.view.blocks.push_back(BlockId(static_cast<std::int32_t>(i)));
  }
}

void FakeEngineHandle::giveBlocks(Running& running) {
  for (BlockId id : running.view.blocks) {
    auto& block = m_state.blocks[static_cast<std::size_t>(id.value)];
    block.state = BlockState::Cached;
    block.refCount = 0;
    --m_state.pool->usedBlocks;
    ++m_state.pool->cachedBlocks;
  }
}

// `running` is gone from m_running afterwards.
void FakeEngineHandle::finish(Running& running, FinishReason reason, const std::string& explanation) {
  RequestFinished message;
  message.request = running.spec.id;
  message.reason = reason;
  message.explanation = explanation;
  message.errorCode = ErrorCode::InvalidArgument;
  message.usage = {running.view.promptTokens, running.view.outputTokens, running.view.cachedTokens};
  running.view.times.finishedNs = m_nowNs;
  message.times = running.view.times;
  m_messages.push_back(message);
  running.view.state = RequestState::Finished;
  running.view.finish = reason;
  running.view.tokensPerSecond = 0;
  giveBlocks(running);
  m_finished.insert(m_finished.begin(), running.view);
  if (m_finished.size() > 16) m_finished.pop_back();
  const RequestId id = running.spec.id;
  m_running.erase(std::remove_if(m_running.begin(), m_running.end(),
                                 [id](const Running& r) { return r.spec.id == id; }),
                  m_running.end());
}

void FakeEngineHandle::drainMessages(std::vector<EngineMessage>& out) {
  std::move(m_messages.begin(), m_messages.end(), std::back_inserter(out));
  m_messages.clear();
}

void FakeEngineHandle::drainEvents(std::vector<TraceEvent>& out) {
  out.insert(out.end(), m_events.begin(), m_events.end());
  m_events.clear();
}

}  // namespace tests
