// A conversation and a chat template, brought together as `template` and `generate --chat` do.
#pragma once

#include <string>

#include "engine/base/result.h"
#include "engine/text/origin_text.h"
#include "engine/text/vocabulary.h"

namespace app::cli {

// The template to use: that file's text, or the model's own for an empty path. InvalidArgument when
// there is neither.
engine::Result<std::string> chooseTemplate(const std::string& templatePath,
                                           const engine::text::Vocabulary* vocabulary);

// bos_token and eos_token come from `vocabulary` (null = none) where the conversation names none.
engine::Result<engine::text::OriginText> renderConversation(
    const std::string& templateText,
    const std::string& conversationJson,
    const engine::text::Vocabulary* vocabulary);

}  // namespace app::cli
