#include "engine/text/conversation.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include "engine/text/jinja_failure.h"
#include "engine/text/jinja_json.h"

namespace engine::text {

namespace {

using jinja::Dict;
using jinja::Kind;
using jinja::SequenceKind;
using jinja::String;
using jinja::Value;

constexpr std::size_t kMaxBytes = 64u << 20;

Error invalid(std::string message) { return {ErrorCode::InvalidArgument, std::move(message)}; }

bool isList(const Value& value) {
  return value.is(Kind::Sequence) && value.asSequence().kind == SequenceKind::List;
}

// A few words of a user's own text, for a message.
std::string excerpt(const Value& value) {
  std::string text(value.asString().view().substr(0, 60));
  while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0x80) != 0) text.pop_back();
  return text;
}

Result<void> checkPart(const Value& part, std::size_t message, std::size_t index) {
  const std::string where = fmt::format("messages[{}].content[{}]", message, index);
  if (!part.is(Kind::Dict)) {
    return invalid(fmt::format("{} must be an object with type and text, not {}", where, typeName(part)));
  }
  const Value* type = part.asDict().find("type");
  if (!type || !type->isString()) return invalid(fmt::format("{} has no type", where));
  if (type->asString().view() != "text") {
    return Error{ErrorCode::Unsupported,
                 fmt::format("{} is a part of type '{}'; only text is supported", where, excerpt(*type))};
  }
  const Value* text = part.asDict().find("text");
  if (!text || !text->isString()) return invalid(fmt::format("{} is a text part without a text", where));
  return {};
}

Result<void> checkContent(const Value& message, std::size_t index) {
  const Value* content = message.asDict().find("content");
  const Value* calls = message.asDict().find("tool_calls");
  const bool hasCalls = calls && isList(*calls) && !calls->asSequence().items.empty();
  if (!content || content->is(Kind::None)) {
    if (hasCalls) return {};
    return invalid(fmt::format("messages[{}] has no content", index));
  }
  if (content->isString()) return {};
  if (!isList(*content)) {
    return invalid(fmt::format("messages[{}].content must be a string or a list of text parts, not {}",
                               index, typeName(*content)));
  }
  const std::vector<Value>& parts = content->asSequence().items;
  for (std::size_t i = 0; i < parts.size(); ++i) TRY_VOID(checkPart(parts[i], index, i));
  return {};
}

Result<void> checkMessage(const Value& message, std::size_t index) {
  if (!message.is(Kind::Dict)) {
    return invalid(fmt::format("messages[{}] must be an object, not {}", index, typeName(message)));
  }
  const Value* role = message.asDict().find("role");
  if (!role) return invalid(fmt::format("messages[{}] has no role", index));
  if (!role->isString() || role->asString().isEmpty()) {
    return invalid(fmt::format("messages[{}].role must be a string that is not empty", index));
  }
  return checkContent(message, index);
}

bool hasParts(const Value& message) {
  const Value* content = message.asDict().find("content");
  return content && isList(*content);
}

Value flattened(const Value& message) {
  String text;
  for (const Value& part : message.asDict().find("content")->asSequence().items) {
    if (!text.isEmpty()) text.append("\n", Origin::Template);
    text.append(part.asDict().find("text")->asString());
  }
  std::vector<Dict::Entry> entries = message.asDict().entries();
  for (auto& [key, value] : entries) {
    if (key.isString() && key.asString().view() == "content") value = Value::string(text);
  }
  return Value::dict(std::make_shared<Dict>(std::move(entries), nullptr));
}

Value templateText(const std::string& text) { return Value::literal(text); }

// A text of the document that stands for the template's own: bos_token, eos_token.
Result<Value> tokenText(const Value* value, const char* name, const std::string& fallback) {
  if (!value) return templateText(fallback);
  if (!value->isString()) return invalid(fmt::format("{} must be a string, not {}", name, typeName(*value)));
  return templateText(std::string(value->asString().view()));
}

}  // namespace

Result<ConversationInput> ConversationInput::parse(std::string_view json, const ConversationDefaults& defaults) {
  if (json.size() > kMaxBytes) {
    return invalid(fmt::format("the conversation has {} bytes; the limit is {}", json.size(), kMaxBytes));
  }
  Value document;
  try {
    Result<Value> parsed = jinja::parseJson(json, Origin::User, nullptr);
    if (!parsed) return invalid("the conversation cannot be read: " + parsed.error().message);
    document = std::move(parsed).value();
  } catch (const jinja::Failure& failure) {
    return invalid("the conversation cannot be read: " + failure.message);
  }
  if (!document.is(Kind::Dict)) {
    return invalid(fmt::format("the conversation must be an object with messages, not {}", typeName(document)));
  }
  const Dict& fields = document.asDict();
  ConversationInput input;
  input.m_numBytes = json.size();
  const Value* generation = fields.find("add_generation_prompt");
  if (generation && !generation->is(Kind::Bool)) return invalid("add_generation_prompt must be true or false");
  const Value* tools = fields.find("tools");
  if (tools && !tools->is(Kind::None) && !isList(*tools)) {
    return invalid(fmt::format("tools must be a list, not {}", typeName(*tools)));
  }
  TRY_VOID(input.readTime(fields.find("now")));
  input.m_variables.emplace_back("bos_token", TRY(tokenText(fields.find("bos_token"), "bos_token", defaults.bosToken)));
  input.m_variables.emplace_back("eos_token", TRY(tokenText(fields.find("eos_token"), "eos_token", defaults.eosToken)));
  input.m_variables.emplace_back("add_generation_prompt", generation ? *generation : Value::boolean(true));
  for (const auto& [key, value] : fields.entries()) {
    const std::string_view name = key.asString().view();
    const bool isKnown = name == "bos_token" || name == "eos_token" || name == "add_generation_prompt" ||
                         name == "messages" || name == "now";
    if (!isKnown) input.m_variables.emplace_back(std::string(name), value);
  }
  const Value* messages = fields.find("messages");
  if (!messages) return invalid("the conversation has no messages");
  TRY_VOID(input.readMessages(*messages));
  return input;
}

Result<void> ConversationInput::readMessages(const Value& messages) {
  if (!isList(messages)) return invalid(fmt::format("messages must be a list, not {}", typeName(messages)));
  const std::vector<Value>& items = messages.asSequence().items;
  if (items.empty()) return invalid("messages is empty; a conversation needs at least one message");
  std::vector<Value> flat;
  for (std::size_t i = 0; i < items.size(); ++i) {
    TRY_VOID(checkMessage(items[i], i));
    const bool isInParts = text::hasParts(items[i]);
    m_hasParts = m_hasParts || isInParts;
    flat.push_back(isInParts ? flattened(items[i]) : items[i]);
  }
  m_flatVariables = m_variables;
  m_flatVariables.emplace_back("messages", Value::list(std::move(flat)));
  m_variables.emplace_back("messages", messages);
  return {};
}

Result<void> ConversationInput::readTime(const Value* now) {
  if (!now) {
    const std::time_t clock = std::time(nullptr);
    localtime_r(&clock, &m_now);
    return {};
  }
  const std::string text = now->isString() ? std::string(now->asString().view()) : "";
  std::tm time{};
  int used = 0;
  const int count = std::sscanf(text.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d%n", &time.tm_year, &time.tm_mon,
                                &time.tm_mday, &time.tm_hour, &time.tm_min, &time.tm_sec, &used);
  time.tm_year -= 1900;
  time.tm_mon -= 1;
  std::tm normal = time;  // timegm turns 30 February into 2 March and fills in the day of the week
  timegm(&normal);
  const bool isReal = count == 6 && static_cast<std::size_t>(used) == text.size() &&
                      normal.tm_mday == time.tm_mday && normal.tm_mon == time.tm_mon &&
                      normal.tm_hour == time.tm_hour && normal.tm_min == time.tm_min &&
                      normal.tm_sec == time.tm_sec;
  if (!isReal) return invalid("now must be a local time such as 2026-01-02T03:04:05");
  m_now = normal;
  return {};
}

}  // namespace engine::text
