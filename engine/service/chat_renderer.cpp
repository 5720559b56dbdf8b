#include "engine/service/chat_renderer.h"

#include <memory>
#include <string>

#include "engine/text/chat_template.h"
#include "engine/text/conversation.h"

namespace engine::service {

namespace {

std::string tokenText(const text::Vocabulary& vocabulary, TokenId id) {
  const bool isKnown = id >= 0 && static_cast<std::size_t>(id) < vocabulary.tokens.size();
  return isKnown ? vocabulary.tokens[static_cast<std::size_t>(id)] : std::string();
}

}  // namespace

ChatRenderer makeChatRenderer(const text::Vocabulary& vocabulary) {
  const text::ConversationDefaults defaults{tokenText(vocabulary, vocabulary.bos),
                                            tokenText(vocabulary, vocabulary.eos)};
  const auto own = std::make_shared<const Result<text::ChatTemplate>>(
      text::ChatTemplate::forVocabulary(vocabulary));
  ChatRenderer renderer;
  renderer.hasTemplate = own->isOk();
  renderer.readsTools = own->isOk() && own->value().readsTools();
  if (own->isOk()) renderer.note = own->value().note();
  renderer.render = [defaults, own](const ChatPrompt& prompt) -> Result<text::OriginText> {
    const auto input = TRY(text::ConversationInput::parse(prompt.conversationJson, defaults));
    if (prompt.templateText.empty()) {
      if (!own->isOk()) return own->error();
      return own->value().render(input);
    }
    const text::ChatTemplate given = TRY(text::ChatTemplate::parse(prompt.templateText));
    return given.render(input);
  };
  return renderer;
}

}  // namespace engine::service
