// Beam search around a step: keeps the candidates of its beams and, when all of a request's beams
// have theirs, lets the best go on: forks, extends and prunes sequences between two steps.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine/sample/beam_search.h"
#include "engine/service/model_session.h"

namespace engine::service {

// Engine thread only. The session must outlive it.
class BeamStage {
 public:
  explicit BeamStage(ModelSession& session) : m_session(session) {}

  // Of a sequence that the committed step held.
  void keep(RequestId id, std::vector<sample::BeamCandidate> candidates);
  // After the step's ended sequences were closed.
  void advance(std::int64_t nowNs);

 private:
  // A continuation that stays in the search.
  struct Survivor {
    sample::BeamSearch::Move move;
    std::string text;
    OutputText output;
  };

  bool isReady(const ChoiceGroup& group) const;
  void step(const std::shared_ptr<ChoiceGroup>& group);
  void complete(ChoiceGroup& group, const sample::BeamSearch::Move& move, sample::BeamAnswer answer);
  std::vector<Survivor> survivorsOf(ChoiceGroup& group,
                                    const std::vector<sample::BeamSearch::Move>& next);
  void goOn(ChoiceGroup& group, std::vector<Survivor>& survivors);
  RequestId forkOff(ChoiceGroup& group, const Survivor& survivor, int choice);
  void moveOn(RequestId id, RequestId parent, Survivor& survivor, BranchOp op);
  void record(BranchOp op, RequestId id, RequestId parent, TokenId token, double sum);

  ModelSession& m_session;
  std::set<RequestId> m_touched;  // roots
  std::int64_t m_nowNs = 0;
};

}  // namespace engine::service
