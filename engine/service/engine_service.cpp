#include "engine/service/engine_service.h"

#include <thread>
#include <utility>

#include "engine/base/check.h"
#include "engine/service/engine_thread.h"

namespace engine::service {

namespace {

// The front end's side; everything behind it lives on the engine thread.
class EngineService final : public EngineHandle {
 public:
  EngineService(EngineParts parts, const EngineOptions& options)
      : m_clock(parts.clock),
        m_shared(options),
        m_engine(std::move(parts), options, m_shared),
        m_thread([this](const std::stop_token& stop) { m_engine.run(stop); }) {}

  ~EngineService() override {
    m_thread.request_stop();
    m_shared.inbox.push({WakeUp{}, 0});
    m_shared.gate.stopAnyStep();
  }

  EngineCapabilities capabilities() const override { return {true, true, true, true, true, true}; }

  void submit(Command command) override {
    const auto* cancel = std::get_if<Cancel>(&command);
    const RequestId cancelled = cancel != nullptr ? cancel->id : RequestId();
    const bool endsAll = std::holds_alternative<UnloadModel>(command);
    m_shared.inbox.push({std::move(command), m_clock->nowNs()});
    // first into the mailbox, then to the gate: see StepGate
    if (!cancelled.isNone()) m_shared.gate.stopStepOf(cancelled);
    if (endsAll) m_shared.gate.stopAnyStep();
  }

  void drainMessages(std::vector<EngineMessage>& out) override { m_shared.outbox.drain(out); }

  void drainEvents(std::vector<TraceEvent>& out) override { m_shared.recorder.drain(out); }

  std::uint64_t numLostEvents() const override { return m_shared.recorder.numLost(); }

  std::shared_ptr<const EngineSnapshot> latestSnapshot() const override {
    return m_shared.snapshot.get();
  }

  std::int64_t nowNs() const override { return m_clock->nowNs(); }

 private:
  std::shared_ptr<const Clock> m_clock;
  SharedState m_shared;
  EngineThread m_engine;
  std::jthread m_thread;  // last: it uses all of the above
};

}  // namespace

std::unique_ptr<EngineHandle> createEngineService(EngineParts parts, EngineOptions options) {
  CHECK(parts.models != nullptr);
  if (!parts.clock) parts.clock = std::make_shared<SteadyClock>();
  return std::make_unique<EngineService>(std::move(parts), options);
}

}  // namespace engine::service
