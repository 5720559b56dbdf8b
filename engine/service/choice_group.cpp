#include "engine/service/choice_group.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace engine::service {

bool hasChoices(const SamplingParams& sampling) {
  return sampling.n > 1 || sampling.bestOf > 1 || sampling.beamWidth > 0;
}

ChoiceGroup::ChoiceGroup(RequestId theRoot, const SamplingParams& sampling) : root(theRoot) {
  const bool isBeamSearch = sampling.beamWidth > 0;
  numSamples = isBeamSearch ? sampling.beamWidth : std::max(sampling.n, sampling.bestOf);
  numTold = isBeamSearch && sampling.n == 1 ? sampling.beamWidth : sampling.n;
  isRanked = isBeamSearch || numSamples > sampling.n;
  choices.resize(isBeamSearch ? 0 : static_cast<std::size_t>(numSamples));
}

void ChoiceGroup::completeLive(FinishReason reason) {
  for (LiveBeam& beam : live) {
    sample::BeamAnswer answer;
    answer.tokens = std::move(beam.tokens);
    answer.text = std::move(beam.text);
    answer.sum = beam.sum;
    answer.reason = reason;
    search->add(std::move(answer));
  }
  live.clear();
}

std::vector<ChoiceGroup::Choice> ChoiceGroup::toldChoices() const {
  std::vector<Choice> told;
  if (isBeams()) {
    for (sample::BeamAnswer& one : search->best(static_cast<std::size_t>(numTold))) {
      Choice choice;
      choice.numTokens = std::ssize(one.tokens);
      choice.text = std::move(one.text);
      choice.tokens = std::move(one.tokens);
      choice.sum = one.sum;
      choice.score = one.score;
      choice.reason = one.reason;
      told.push_back(std::move(choice));
    }
    return told;
  }
  told = choices;
  if (isRanked) std::ranges::stable_sort(told, std::greater(), &Choice::sum);
  told.resize(std::min(told.size(), static_cast<std::size_t>(numTold)));
  for (Choice& one : told) one.score = one.sum;
  return told;
}

}  // namespace engine::service
