#include "engine/text/chat_template.h"

#include <fmt/format.h>

#include <exception>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "engine/text/default_templates.h"
#include "engine/text/jinja_failure.h"
#include "engine/text/jinja_interpreter.h"
#include "engine/text/jinja_parser.h"
#include "engine/text/utf8.h"

namespace engine::text {

struct ChatTemplate::Program {
  jinja::Block block;
  bool readsParts = false, readsTools = false;
};

namespace {

constexpr std::size_t kMaxTemplateBytes = 1u << 20;
constexpr const char* kProbe = "tessera-probe-text";

jinja::Limits limitsFor(std::size_t inputBytes) {
  jinja::Limits limits;
  limits.steps += static_cast<std::int64_t>(inputBytes / 4);
  limits.stringBytes += 4 * inputBytes;
  limits.liveBytes += 8 * inputBytes;
  return limits;
}

Result<OriginText> run(const jinja::Block& block, const jinja::Variables& variables, const std::tm& now,
                       const jinja::Limits& limits) {
  jinja::Interpreter interpreter(limits, now);
  try {
    return interpreter.render(block, variables).toOriginText();
  } catch (const jinja::Failure& failure) {
    if (failure.kind == jinja::Failure::Kind::Raised) return Error{failure.code, failure.message};
    return Error{failure.code, fmt::format("the chat template failed at line {}: {}", interpreter.line(),
                                           failure.message)};
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::OutOfMemory, "the chat template needs more memory than there is"};
  } catch (const std::exception& exception) {
    return Error{ErrorCode::Internal, fmt::format("the chat template failed at line {}: {}",
                                                  interpreter.line(), exception.what())};
  }
}

// What a conversation written by us renders to; empty when the template refuses it.
std::string renderedProbe(const jinja::Block& block, const std::string& json) {
  const Result<ConversationInput> input = ConversationInput::parse(json, {});
  if (!input) return {};
  jinja::Limits limits;
  limits.steps = 200'000;
  const Result<OriginText> out = run(block, input->variables(), input->now(), limits);
  return out ? plainText(*out) : std::string();
}

// Renders one message given in parts and looks whether its text came through as text.
bool probeParts(const jinja::Block& block) {
  const std::string json = fmt::format(
      R"({{"messages":[{{"role":"user","content":[{{"type":"text","text":"{}"}}]}}],"now":"2026-01-02T03:04:05"}})",
      kProbe);
  const std::string text = renderedProbe(block, json);
  const std::size_t place = text.find(kProbe);
  // A printed list shows the text in quotes behind its key.
  return place != std::string::npos && text.find(fmt::format("'text': '{}'", kProbe)) == std::string::npos &&
         text.find(fmt::format("\"text\": \"{}\"", kProbe)) == std::string::npos;
}

// Renders a conversation in which a tool was offered, called and answered, and looks whether both the
// offer and the answer came through.
bool probeTools(const jinja::Block& block) {
  const std::string json = fmt::format(
      R"({{"messages":[{{"role":"user","content":"q"}},{{"role":"assistant","content":"a"}},)"
      R"({{"role":"tool","content":"{0}-answer"}}],"now":"2026-01-02T03:04:05",)"
      R"("tools":[{{"type":"function","function":{{"name":"{0}-offer","description":"d",)"
      R"("parameters":{{"type":"object","properties":{{}}}}}}}}]}})",
      kProbe);
  const std::string text = renderedProbe(block, json);
  return text.find(fmt::format("{}-offer", kProbe)) != std::string::npos &&
         text.find(fmt::format("{}-answer", kProbe)) != std::string::npos;
}

}  // namespace

Result<ChatTemplate> ChatTemplate::parse(std::string_view templateText) {
  if (templateText.size() > kMaxTemplateBytes) {
    return Error{ErrorCode::InvalidArgument, fmt::format("the chat template has {} bytes; the limit is {}",
                                                         templateText.size(), kMaxTemplateBytes)};
  }
  if (const auto bad = findInvalidUtf8(templateText)) {
    return Error{ErrorCode::InvalidArgument, fmt::format("the chat template is not UTF-8 at byte {}", *bad)};
  }
  try {
    auto program = std::make_shared<Program>();
    program->block = jinja::parseTemplate(templateText);
    program->readsParts = probeParts(program->block);
    program->readsTools = probeTools(program->block);
    return ChatTemplate(std::move(program));
  } catch (const jinja::Failure& failure) {
    return Error{failure.code, "the chat template cannot be read: " + failure.message};
  } catch (const std::exception& exception) {
    return Error{ErrorCode::Internal, fmt::format("the chat template cannot be read: {}", exception.what())};
  }
}

Result<ChatTemplate> ChatTemplate::forVocabulary(const Vocabulary& vocabulary) {
  if (!vocabulary.chatTemplate.empty()) return parse(vocabulary.chatTemplate);
  const std::optional<DefaultTemplate> known = defaultTemplateFor(vocabulary);
  if (!known) return Error{ErrorCode::Unsupported, "the model file has no chat template"};
  ChatTemplate result = TRY(parse(known->text));
  result.m_note = fmt::format("the model file has no chat template; turns are put between {} and {}, which it knows",
                              known->opening, known->closing);
  return result;
}

Result<OriginText> ChatTemplate::render(const ConversationInput& input) const {
  const bool wantsFlat = input.hasParts() && !m_program->readsParts;
  return run(m_program->block, wantsFlat ? input.flatVariables() : input.variables(), input.now(),
             limitsFor(input.numBytes()));
}

bool ChatTemplate::readsParts() const { return m_program->readsParts; }

bool ChatTemplate::readsTools() const { return m_program->readsTools; }

}  // namespace engine::text
