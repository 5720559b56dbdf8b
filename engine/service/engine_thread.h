// What the engine thread does between sleeping and waking: commands, loads, steps, publications.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "engine/api/command.h"
#include "engine/api/message.h"
#include "engine/api/snapshot.h"
#include "engine/base/latest_slot.h"
#include "engine/base/mailbox.h"
#include "engine/service/engine_service.h"
#include "engine/service/engine_step.h"
#include "engine/service/model_session.h"
#include "engine/service/model_switch.h"
#include "engine/service/prompt_encoder.h"
#include "engine/service/step_gate.h"
#include "engine/trace/trace_recorder.h"

namespace engine::service {

struct WakeUp {};

// What became of a prompt that was turned into tokens beside the steps.
struct PromptEncoded {
  RequestId request;
  std::uint64_t serial = 0;
  TokenIds ids;
};

// One thing for the engine thread to look at, with the time when it was sent.
struct EngineInput {
  std::variant<Command, LoadEvent, PromptEncoded, WakeUp> content;
  std::int64_t sentNs = 0;
};

// The objects that the engine thread shares with the front end's; each is thread-safe or one-way.
struct SharedState {
  explicit SharedState(const EngineOptions& options) : recorder(options.eventCapacity) {}

  Mailbox<EngineInput> inbox;
  Mailbox<EngineMessage> outbox;
  trace::TraceRecorder recorder;
  LatestSlot<EngineSnapshot> snapshot;
  StepGate gate;
};

// Engine thread only. `shared` must outlive it.
class EngineThread {
 public:
  EngineThread(EngineParts parts, const EngineOptions& options, SharedState& shared);
  ~EngineThread();

  // Until WakeUp inputs and `stop` say so. Never throws: an exception latches Failed.
  void run(const std::stop_token& stop);

 private:
  struct HeldSubmit {
    RequestSpec spec;
    std::int64_t arrivalNs;
  };

  // What waits for an answer to the command being handled.
  using Asked = std::variant<std::monostate, RequestId, QueryId>;

  void turn();
  void takeInputs();
  std::chrono::milliseconds patience() const;
  void handle(EngineInput& input);
  void handleEvent(LoadEvent& event);
  void latch(const std::string& sentence);
  static Asked questionOf(const Command& command);
  // After an exception: whoever asked must not wait for ever. `answered` have heard already.
  void answerAsked(const Error& error, const std::vector<RequestId>& answered);

  // commands (engine_commands.cpp)
  void on(LoadModel& command, std::int64_t sentNs);
  void on(CancelLoad& command, std::int64_t sentNs);
  void on(UnloadModel& command, std::int64_t sentNs);
  void on(Submit& command, std::int64_t sentNs);
  void on(Cancel& command, std::int64_t sentNs);
  void on(SetLimits& command, std::int64_t sentNs);
  void on(Pause& command, std::int64_t sentNs);
  void on(Resume& command, std::int64_t sentNs);
  void on(StepOnce& command, std::int64_t sentNs);
  void on(Query& command, std::int64_t sentNs);
  void answer(QueryId id, TokenIds result);
  void encode(QueryId id, Prompt prompt);
  void submit(RequestSpec spec, std::int64_t sentNs);
  void on(PromptEncoded& encoded);
  void estimate(QueryId id, const LoadConfig& config);

  // loads (engine_commands.cpp)
  void on(LoadAdvanced& event);
  void on(ModelOpened& event);
  void on(LoadEnded& event);
  void failLoad(const Error& error);
  void endSession(const std::string& sentence);
  void releaseHeld(const std::string& whyNoModel);

  // steps
  bool maySteps() const;
  void step();
  void countFailure();

  // publications
  EngineState state() const;
  void addHeld(EngineSnapshot& snapshot) const;
  void publish();
  void publishIfDue();

  const EngineParts m_parts;
  const EngineOptions m_options;
  SharedState& m_shared;
  const Clock& m_clock;

  EngineConfig m_config;
  std::unique_ptr<ModelSession> m_session;
  std::unique_ptr<EngineStep> m_step;  // of m_session
  std::vector<HeldSubmit> m_held;      // sent while a model loads
  Asked m_asked;                       // empty between two commands
  std::deque<EngineInput> m_inputs;
  std::string m_failure;  // latched; empty = healthy

  bool m_isPaused = false;
  int m_stepsAllowed = 0;   // while paused
  bool m_isResting = true;  // the last step found nothing to do
  int m_failuresInARow = 0;
  bool m_hasServed = false;  // some model was loaded

  std::uint64_t m_version = 0;
  std::int64_t m_publishedNs = 0;
  bool m_isDirty = true;      // something changed since the last publication
  bool m_mustPublish = true;  // and is to be seen at once
  bool m_showsRates = false;  // the last publication showed a speed that will fade

  std::atomic<bool> m_isStepping{false};  // for the thread that encodes
  std::uint64_t m_lastPrompt = 0;         // serial

  ModelSwitch m_switch;
  // last: their tasks use m_shared and what is above
  BackgroundWorker m_estimates, m_encodings;
};

}  // namespace engine::service
