// Turn formats for model files that bring no chat template of their own.
#pragma once

#include <optional>
#include <string_view>

#include "engine/text/vocabulary.h"

namespace engine::text {

// The template whose turn markers the vocabulary holds as control tokens; nothing when it has none.
std::optional<std::string_view> defaultTemplateFor(const Vocabulary& vocabulary);

std::string_view gemmaTemplate();   // <start_of_turn> ... <end_of_turn>, system text in the first turn
std::string_view chatMlTemplate();  // <|im_start|> ... <|im_end|>

}  // namespace engine::text
