// Whether two models speak of the same tokens: what a draft model needs.
#pragma once

#include "engine/base/result.h"
#include "engine/text/vocabulary.h"

namespace engine::text {

// Compares token by token: equal ids must mean equal text. Sizes may differ by unused tokens at the
// end of the longer one. Unsupported, naming the first token that differs.
Result<void> checkSameTokens(const Vocabulary& model, const Vocabulary& draft);

}  // namespace engine::text
