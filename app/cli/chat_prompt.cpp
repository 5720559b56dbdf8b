#include "app/cli/chat_prompt.h"

#include <utility>

#include <fmt/format.h>

#include "app/cli/cli_io.h"
#include "engine/text/chat_template.h"
#include "engine/text/conversation.h"

namespace app::cli {

using engine::Error;
using engine::ErrorCode;
using engine::Result;
using engine::text::ChatTemplate;
using engine::text::ConversationDefaults;
using engine::text::ConversationInput;
using engine::text::OriginText;
using engine::text::Vocabulary;

Result<std::string> chooseTemplate(const std::string& templatePath, const Vocabulary* vocabulary) {
  if (!templatePath.empty()) {
    std::string text = TRY(readFile(templatePath));
    if (!text.empty()) return text;
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("the template file {} is empty", templatePath)};
  }
  if (vocabulary && !vocabulary->chatTemplate.empty()) return vocabulary->chatTemplate;
  return Error{ErrorCode::InvalidArgument,
               "the model file holds no chat template; name one in a file"};
}

Result<OriginText> renderConversation(const std::string& templateText,
                                      const std::string& conversationJson,
                                      const Vocabulary* vocabulary) {
  ConversationDefaults defaults;
  if (vocabulary) {
    const auto textOf = [vocabulary](engine::TokenId id) {
      return id < 0 ? std::string() : vocabulary->tokens[static_cast<std::size_t>(id)];
    };
    defaults.bosToken = textOf(vocabulary->bos);
    defaults.eosToken = textOf(vocabulary->eos);
  }
  const ChatTemplate chatTemplate = TRY(ChatTemplate::parse(templateText));
  const ConversationInput input = TRY(ConversationInput::parse(conversationJson, defaults));
  return chatTemplate.render(input);
}

}  // namespace app::cli
