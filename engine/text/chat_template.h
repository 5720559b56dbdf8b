// A model's chat template: a Jinja program that turns a conversation into one text.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "engine/base/result.h"
#include "engine/text/conversation.h"
#include "engine/text/origin_text.h"
#include "engine/text/vocabulary.h"

namespace engine::text {

// Parsed once, immutable, thread-safe, cheap to copy. Rendering is bounded in steps, memory, output
// and nesting, whatever the template says.
class ChatTemplate {
 public:
  // InvalidArgument, naming the line, for text that is no template; Unsupported for tags that need
  // other templates.
  static Result<ChatTemplate> parse(std::string_view templateText);

  // The file's own template, or a built-in one when the file has none but its vocabulary holds the
  // control tokens of a turn format that we know. Unsupported otherwise.
  static Result<ChatTemplate> forVocabulary(const Vocabulary& vocabulary);

  // What the conversation brought is Origin::User in the result, all else Origin::Template.
  // InvalidArgument with the template's own words for raise_exception, else with line and reason.
  Result<OriginText> render(const ConversationInput& input) const;

  // Where it is one of ours because the file has none, the sentence that says so; else empty.
  const std::string& note() const { return m_note; }
  // Whether it reads content given as a list of parts; it gets plain strings otherwise.
  bool readsParts() const;
  // Whether it offers the tools of a conversation and takes messages of the role "tool".
  bool readsTools() const;

 private:
  struct Program;
  explicit ChatTemplate(std::shared_ptr<const Program> program) : m_program(std::move(program)) {}

  std::shared_ptr<const Program> m_program;
  std::string m_note;
};

}  // namespace engine::text
