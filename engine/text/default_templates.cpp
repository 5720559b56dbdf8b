#include "engine/text/default_templates.h"

namespace engine::text {

namespace {

// The format has no system turn: its text opens the first user turn.
constexpr std::string_view kGemmaText = R"({%- if tools -%}
  {{- raise_exception('The built-in chat template cannot describe tools') -}}
{%- endif -%}
{%- set turns = messages -%}
{%- set preface = '' -%}
{%- if messages[0].role == 'system' -%}
  {%- set preface = (messages[0].content | trim) ~ '\n\n' -%}
  {%- set turns = messages[1:] -%}
{%- endif -%}
{{- bos_token -}}
{%- for turn in turns -%}
  {%- if turn.role != ('user' if loop.index0 is even else 'assistant') -%}
    {{- raise_exception('The turns must alternate: user, assistant, user, ...') -}}
  {%- endif -%}
  {{- '<start_of_turn>' ~ ('user' if turn.role == 'user' else 'model') ~ '\n' -}}
  {{- (preface if loop.first else '') ~ (turn.content | trim) ~ '<end_of_turn>\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}
  {{- '<start_of_turn>model\n' -}}
{%- endif -%}
)";

constexpr std::string_view kChatMlText = R"({%- if tools -%}
  {{- raise_exception('The built-in chat template cannot describe tools') -}}
{%- endif -%}
{%- for turn in messages -%}
  {{- '<|im_start|>' ~ turn.role ~ '\n' ~ turn.content ~ '<|im_end|>\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}
  {{- '<|im_start|>assistant\n' -}}
{%- endif -%}
)";

constexpr DefaultTemplate kDefaults[] = {
    {"<start_of_turn>", "<end_of_turn>", kGemmaText},
    {"<|im_start|>", "<|im_end|>", kChatMlText},
};

bool hasControlToken(const Vocabulary& vocabulary, std::string_view name) {
  for (std::size_t i = 0; i < vocabulary.tokens.size() && i < vocabulary.types.size(); ++i) {
    if (vocabulary.types[i] == TokenType::Control && vocabulary.tokens[i] == name) return true;
  }
  return false;
}

}  // namespace

std::optional<DefaultTemplate> defaultTemplateFor(const Vocabulary& vocabulary) {
  for (const DefaultTemplate& one : kDefaults) {
    const bool holdsBoth = hasControlToken(vocabulary, one.opening) && hasControlToken(vocabulary, one.closing);
    if (holdsBoth) return one;
  }
  return std::nullopt;
}

std::string_view gemmaTemplate() { return kGemmaText; }

}  // namespace engine::text
