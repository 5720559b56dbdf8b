#include "engine/trace/recording_handle.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include <spdlog/spdlog.h>

#include "engine/trace/trace_file.h"

namespace engine::trace {

namespace {

constexpr std::int64_t kFlushIntervalNs = 100'000'000;
// Events that a front end may leave lying before they count as lost to it; the file has them.
constexpr std::size_t kMaxPending = 1 << 16;

RequestOpening openingOf(const RequestSpec& spec) {
  RequestOpening opening;
  opening.request = spec.id;
  opening.label = spec.label;
  if (const auto* text = std::get_if<TextPrompt>(&spec.prompt)) opening.prompt = text->text;
  if (const auto* chat = std::get_if<ChatPrompt>(&spec.prompt)) {
    opening.prompt = chat->conversationJson;
    opening.isConversation = true;
  }
  opening.maxTokens = spec.sampling.maxTokens;
  opening.seed = spec.sampling.seed;
  opening.priority = spec.priority;
  return opening;
}

class RecordingHandle final : public EngineHandle {
 public:
  RecordingHandle(std::unique_ptr<EngineHandle> engine,
                  std::unique_ptr<TraceWriter> writer,
                  std::string program)
      : m_engine(std::move(engine)), m_writer(std::move(writer)), m_program(std::move(program)) {}

  ~RecordingHandle() override {
    take();
    begin();  // a run that loaded nothing has a header too
    const Result<void> closed = m_writer->close();
    if (!closed && !m_hasFailed) spdlog::warn("{}", closed.error().message);  // nobody takes messages now
  }

  EngineCapabilities capabilities() const override { return m_engine->capabilities(); }

  void submit(Command command) override {
    if (const auto* load = std::get_if<LoadModel>(&command)) m_config = load->config;
    if (const auto* limits = std::get_if<SetLimits>(&command)) m_config.limits = limits->limits;
    if (const auto* submit = std::get_if<Submit>(&command)) {
      begin();
      m_writer->writeOpening(m_engine->nowNs(), openingOf(submit->spec));
    }
    m_engine->submit(std::move(command));
  }

  void drainMessages(std::vector<EngineMessage>& out) override {
    take();
    std::ranges::move(m_messages, std::back_inserter(out));
    m_messages.clear();
  }

  void drainEvents(std::vector<TraceEvent>& out) override {
    take();
    out.insert(out.end(), m_events.begin(), m_events.end());
    m_events.clear();
  }

  std::uint64_t numLostEvents() const override { return m_engine->numLostEvents() + m_numDropped; }

  std::shared_ptr<const EngineSnapshot> latestSnapshot() const override {
    return m_engine->latestSnapshot();
  }

  std::int64_t nowNs() const override { return m_engine->nowNs(); }

  ReplayControl* replayControl() override { return m_engine->replayControl(); }

 private:
  // The header waits for the model, or for the first thing that cannot wait.
  void begin() {
    if (m_hasBegun) return;
    m_hasBegun = true;
    m_writer->writeHeader({m_program, m_engine->nowNs(), m_config, m_model});
  }

  void take() {
    const std::size_t firstMessage = m_messages.size(), firstEvent = m_events.size();
    m_engine->drainMessages(m_messages);
    m_engine->drainEvents(m_events);
    const std::int64_t nowNs = m_engine->nowNs();
    const std::span newMessages = std::span(m_messages).subspan(firstMessage);
    const std::span newEvents = std::span(m_events).subspan(firstEvent);
    for (const EngineMessage& message : newMessages) {
      if (const auto* loaded = std::get_if<ModelLoaded>(&message)) m_model = loaded->info;
    }
    if (m_model || !newEvents.empty()) begin();
    if (!m_hasBegun) return;
    m_writer->writeEvents(nowNs, newEvents);
    m_writer->writeMessages(nowNs, newMessages);
    takeSnapshot();
    takeLosses(nowNs);
    dropOldest();
    // who waits for the last end hears of a failure with it
    const bool hasEnd = std::ranges::any_of(newMessages, [](const EngineMessage& message) {
      return std::holds_alternative<RequestFinished>(message);
    });
    if (hasEnd || nowNs - m_flushedNs >= kFlushIntervalNs) flush(nowNs);
  }

  void takeSnapshot() {
    auto snapshot = m_engine->latestSnapshot();
    if (!snapshot || snapshot->version == m_lastVersion) return;
    m_lastVersion = snapshot->version;
    m_writer->writeSnapshot(std::move(snapshot));
  }

  void takeLosses(std::int64_t nowNs) {
    const std::uint64_t lost = m_engine->numLostEvents();
    if (lost == m_numLost) return;
    m_writer->writeLoss(nowNs, lost - m_numLost);
    m_numLost = lost;
  }

  void dropOldest() {
    if (m_events.size() <= kMaxPending) return;
    const std::size_t tooMany = m_events.size() - kMaxPending / 2;
    m_events.erase(m_events.begin(), m_events.begin() + static_cast<std::ptrdiff_t>(tooMany));
    m_numDropped += tooMany;
  }

  void flush(std::int64_t nowNs) {
    if (m_hasFailed) return;
    m_flushedNs = nowNs;
    const Result<void> flushed = m_writer->flush();
    if (flushed) return;
    m_hasFailed = true;
    m_messages.push_back(Notice{Severity::Warning, flushed.error().message});
  }

  std::unique_ptr<EngineHandle> m_engine;
  std::unique_ptr<TraceWriter> m_writer;
  const std::string m_program;
  EngineConfig m_config;
  std::shared_ptr<const ModelInfo> m_model;
  std::vector<EngineMessage> m_messages;  // written down, not fetched yet
  std::vector<TraceEvent> m_events;       // likewise
  std::uint64_t m_lastVersion = 0, m_numLost = 0, m_numDropped = 0;
  std::int64_t m_flushedNs = 0;
  bool m_hasBegun = false, m_hasFailed = false;
};

}  // namespace

Result<std::unique_ptr<EngineHandle>> recordEngine(std::unique_ptr<EngineHandle> engine,
                                                   const std::string& path,
                                                   const std::string& program) {
  auto writer = TRY(TraceWriter::create(path));
  return std::unique_ptr<EngineHandle>(
      std::make_unique<RecordingHandle>(std::move(engine), std::move(writer), program));
}

}  // namespace engine::trace
