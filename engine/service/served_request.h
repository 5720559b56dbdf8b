// What the service keeps of one request beside the scheduler's sequence.
#pragma once

#include <optional>
#include <span>
#include <utility>

#include "engine/api/request.h"
#include "engine/api/snapshot.h"
#include "engine/base/result.h"
#include "engine/sample/token_history.h"
#include "engine/service/output_text.h"
#include "engine/service/rate_meter.h"
#include "engine/speculate/draft_length.h"

namespace engine::service {

// Engine thread only.
struct ServedRequest {
  ServedRequest(RequestSpec theSpec,
                std::span<const TokenId> prompt,
                const text::Tokenizer& tokenizer)
      : spec(std::move(theSpec)), history(prompt), output(tokenizer, spec.sampling) {}

  RequestSpec spec;
  sample::TokenHistory history;
  OutputText output;
  RequestTimes times;
  RateMeter rate;
  speculate::DraftLength draftLength;
  std::optional<Error> failure;  // why it ends with FinishReason::Failed
};

}  // namespace engine::service
