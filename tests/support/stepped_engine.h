// A session and its steps on the caller's thread, under a clock that the caller moves: what the
// engine thread does, without the thread.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "engine/base/clock.h"
#include "engine/service/engine_step.h"

namespace test_support {

// What came back for one answer.
struct SteppedAnswer {
  std::vector<engine::TokenId> ids;
  std::vector<std::uint64_t> rowHashes;
  std::string text;

  friend bool operator==(const SteppedAnswer&, const SteppedAnswer&) = default;
};

class SteppedEngine {
 public:
  using Answers = std::map<engine::RequestId, std::vector<SteppedAnswer>>;  // by choice

  // Invariants are checked after every step: a violation throws.
  SteppedEngine(engine::service::LoadedModel model, const engine::EngineConfig& config)
      : m_session(std::move(model), config, {m_clock, m_recorder, m_outbox}),
        m_step(
            m_session, m_gate, [] { return false; }, /*checkInvariants=*/true) {}

  void submit(engine::RequestSpec spec) { m_session.submit(std::move(spec), m_clock.nowNs()); }

  bool hasWork() const { return m_session.scheduler().hasWork(); }

  engine::service::StepOutcome step(std::int64_t ns = 1'000'000) {
    m_clock.advanceNs(ns);
    const engine::service::StepOutcome outcome = m_step.run();
    drain();
    return outcome;
  }

  const engine::StepSummary& lastStep() const { return m_step.lastSummary(); }

  engine::SpeculationSummary speculation() const { return m_step.speculation(); }

  engine::service::ModelSession& session() { return m_session; }

  const Answers& answers() const { return m_answers; }

  const std::map<engine::RequestId, engine::RequestFinished>& finished() const {
    return m_finished;
  }

  // Takes what came; step() does.
  void drain() {
    std::vector<engine::EngineMessage> messages;
    m_outbox.drain(messages);
    for (engine::EngineMessage& message : messages) {
      if (auto* delta = std::get_if<engine::TextDelta>(&message)) {
        std::vector<SteppedAnswer>& choices = m_answers[delta->request];
        const auto choice = static_cast<std::size_t>(delta->choice);
        if (choices.size() <= choice) choices.resize(choice + 1);
        SteppedAnswer& answer = choices[choice];
        answer.text += delta->text;
        for (const engine::SampledToken& token : delta->tokens) {
          answer.ids.push_back(token.id);
          answer.rowHashes.push_back(token.rowHash);
        }
      } else if (auto* ended = std::get_if<engine::RequestFinished>(&message)) {
        m_finished[ended->request] = *ended;
      }
    }
    m_recorder.drain(events);
  }

  std::vector<engine::TraceEvent> events;  // all so far

 private:
  engine::ManualClock m_clock;
  engine::trace::TraceRecorder m_recorder{1 << 14};
  engine::Mailbox<engine::EngineMessage> m_outbox;
  engine::service::StepGate m_gate;
  engine::service::ModelSession m_session;
  engine::service::EngineStep m_step;
  Answers m_answers;
  std::map<engine::RequestId, engine::RequestFinished> m_finished;
};

}  // namespace test_support
