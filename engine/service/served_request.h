// What the service keeps of one sequence beside the scheduler's.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/api/message.h"
#include "engine/api/request.h"
#include "engine/api/snapshot.h"
#include "engine/base/result.h"
#include "engine/sample/token_history.h"
#include "engine/sample/token_mask.h"
#include "engine/service/choice_group.h"
#include "engine/service/output_text.h"
#include "engine/service/rate_meter.h"
#include "engine/speculate/draft_length.h"

namespace engine::service {

// Engine thread only. A copy is the start of a branch.
struct ServedRequest {
  ServedRequest(RequestSpec theSpec,
                std::span<const TokenId> prompt,
                const text::Tokenizer& tokenizer)
      : spec(std::move(theSpec)), history(prompt), output(tokenizer, spec.sampling) {}

  // The request that the front end knows.
  RequestId root() const { return spec.id; }

  bool isBeam() const { return group != nullptr && group->isBeams(); }

  RequestSpec spec;  // without its prompt
  sample::TokenHistory history;
  OutputText output;
  RequestTimes times;
  RateMeter rate;
  speculate::DraftLength draftLength;
  std::vector<TextDelta> undelivered;  // static and dynamic batching: until its batch has ended
  bool hasUntold = false;              // it has tokens whose times nobody was told
  std::optional<Error> failure;        // why it ends with FinishReason::Failed
  std::shared_ptr<ChoiceGroup> group;  // null = the request is this sequence
  RequestId parent;                    // the sequence it was split off; none = the first
  int choice = 0;
  double cumulativeLogprob = 0;
};

}  // namespace engine::service
