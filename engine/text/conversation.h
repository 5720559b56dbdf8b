// A conversation as a front end states it: checked, and ready for a chat template.
#pragma once

#include <cstddef>
#include <ctime>
#include <string>
#include <string_view>

#include "engine/base/result.h"
#include "engine/text/jinja_interpreter.h"

namespace engine::text {

// What a conversation that does not say it itself gets from the model.
struct ConversationDefaults {
  std::string bosToken;
  std::string eosToken;
};

// Immutable, thread-safe, cheap to copy.
class ConversationInput {
 public:
  // The document {"messages", "tools", "add_generation_prompt", "bos_token", "eos_token", "now"}; other
  // keys become variables of the template. add_generation_prompt is true and `now`
  // ("2026-01-02T03:04:05", local time) is the clock when absent.
  // InvalidArgument with one sentence that names the message and what is wrong with it; Unsupported,
  // naming the kind, for a part that is not text.
  static Result<ConversationInput> parse(std::string_view json, const ConversationDefaults& defaults);

  // Everything but bos_token and eos_token has Origin::User.
  const jinja::Variables& variables() const { return m_variables; }
  // The same with every list of parts joined (by newlines) to one string.
  const jinja::Variables& flatVariables() const { return m_flatVariables; }
  bool hasParts() const { return m_hasParts; }
  const std::tm& now() const { return m_now; }
  std::size_t numBytes() const { return m_numBytes; }

 private:
  Result<void> readMessages(const jinja::Value& messages);
  Result<void> readTime(const jinja::Value* now);

  jinja::Variables m_variables;
  jinja::Variables m_flatVariables;
  bool m_hasParts = false;
  std::tm m_now{};
  std::size_t m_numBytes = 0;
};

}  // namespace engine::text
