// A message or the shown branch of a chat as Markdown, for the clipboard.
#pragma once

#include <QString>
#include <vector>

#include "ui/models/chat_record.h"

namespace ui::models {

// Questions as they were typed, answers as they were written; thinking as a quotation, tool calls as
// code blocks.
QString toMarkdown(const MessageRecord& message);

// With the title, the system prompt, who says what, and what was cut short.
QString toMarkdown(const ChatRecord& chat, const std::vector<MessageRecord>& branch);

}  // namespace ui::models
