// Turn formats for model files that bring no chat template of their own.
#pragma once

#include <optional>
#include <string_view>

#include "engine/text/vocabulary.h"

namespace engine::text {

struct DefaultTemplate {
  std::string_view opening, closing;  // control tokens around each turn
  std::string_view text;
};

// The template whose turn markers the vocabulary holds as control tokens; nothing when it has none.
std::optional<DefaultTemplate> defaultTemplateFor(const Vocabulary& vocabulary);

std::string_view gemmaTemplate();  // <start_of_turn> ... <end_of_turn>, system text in the first turn

}  // namespace engine::text
