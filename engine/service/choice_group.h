// A request with several answers: its sequences, what each has said, and what is told of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/api/message.h"
#include "engine/api/sampling_params.h"
#include "engine/sample/beam_search.h"

namespace engine::service {

// Engine thread only.
struct ChoiceGroup {
  // One sample; kept whole only where answers are ranked before they are told.
  struct Choice {
    std::string text;
    std::vector<SampledToken> tokens;
    std::int64_t numTokens = 0;
    double sum = 0, score = 0;
    FinishReason reason = FinishReason::None;
    std::string explanation;
  };

  struct LiveBeam {
    RequestId id;
    double sum = 0;
    std::string text;
    std::vector<SampledToken> tokens;
    std::vector<sample::BeamCandidate> candidates;  // of its newest row; empty = not computed yet
  };

  ChoiceGroup(RequestId theRoot, const SamplingParams& sampling);

  bool isBeams() const { return search.has_value(); }

  // Answers in the order in which they are told: as many as were asked for.
  std::vector<Choice> toldChoices() const;

  // All beams as answers that end here.
  void completeLive(FinishReason reason);

  RequestId root;
  int numSamples = 1;     // sequences in the end
  int numTold = 1;
  bool isRanked = false;  // told only when all have ended
  bool hasBranched = false;
  std::vector<Choice> choices;   // by sample; of beams: not used
  std::vector<RequestId> open;   // sequences that have not ended
  std::optional<sample::BeamSearch> search;
  std::vector<LiveBeam> live;

  RequestTimes times;
  Usage usage;  // without completion tokens
  int preemptions = 0;
  std::optional<Error> failure;
  std::string explanation;  // why it failed or was ended
  bool isCancelled = false, isRefused = false, isEnding = false, isTold = false;
};

// Whether the request is more than one sequence.
bool hasChoices(const SamplingParams& sampling);

}  // namespace engine::service
