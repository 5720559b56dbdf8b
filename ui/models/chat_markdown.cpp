#include "ui/models/chat_markdown.h"

#include <QCoreApplication>
#include <QStringList>
#include <algorithm>

#include "ui/models/answer_parts.h"

namespace ui::models {

namespace {

QString translate(const char* text) { return QCoreApplication::translate("ChatMarkdown", text); }

QString quoted(const QString& text) {
  QStringList lines = text.trimmed().split(QLatin1Char('\n'));
  for (QString& line : lines) line.prepend(line.isEmpty() ? QStringLiteral(">") : QStringLiteral("> "));
  return lines.join(QLatin1Char('\n'));
}

// A fence longer than any in the text.
QString fenced(const QString& text, const QString& language) {
  qsizetype longest = 2, run = 0;
  for (const QChar c : text) {
    run = c == QLatin1Char('`') ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const QString fence(longest + 1, QLatin1Char('`'));
  return QStringLiteral("%1%2\n%3\n%1").arg(fence, language, text.trimmed());
}

QString partToMarkdown(const AnswerPart& part) {
  switch (part.kind) {
    case PartKind::Text: return part.text.trimmed();
    case PartKind::Thinking: return QStringLiteral("> *%1*\n>\n%2").arg(translate("Thinking"), quoted(part.text));
    case PartKind::ToolCall: return QStringLiteral("*%1*\n\n%2").arg(translate("Tool call"), fenced(part.text, QStringLiteral("json")));
  }
  return {};
}

QString speaker(MessageRole role) {
  switch (role) {
    case MessageRole::User: return translate("You");
    case MessageRole::Assistant: return translate("Model");
    case MessageRole::Tool: return translate("Result of a tool");
  }
  return {};
}

QString remark(const MessageRecord& message) {
  switch (message.state) {
    case MessageState::Interrupted: return translate("interrupted: the program ended here");
    case MessageState::Stopped: return message.note.isEmpty() ? translate("stopped") : message.note;
    case MessageState::Length: case MessageState::Failed: return message.note;
    case MessageState::Streaming: return translate("still being written");
    case MessageState::Complete: break;
  }
  return {};
}

}  // namespace

QString toMarkdown(const MessageRecord& message) {
  if (message.role != MessageRole::Assistant) return message.text;
  const auto parts = partsOf(message.text);
  const bool isPlain = std::all_of(parts.begin(), parts.end(), [](const AnswerPart& p) { return p.kind == PartKind::Text; });
  if (isPlain) return message.text;
  QStringList out;
  for (const AnswerPart& part : parts) out << partToMarkdown(part);
  return out.join(QStringLiteral("\n\n"));
}

QString toMarkdown(const ChatRecord& chat, const std::vector<MessageRecord>& branch) {
  QStringList out{QStringLiteral("# ") + chat.title};
  if (!chat.systemPrompt.trimmed().isEmpty()) {
    out << QStringLiteral("**%1**").arg(translate("System prompt")) << quoted(chat.systemPrompt);
  }
  for (const MessageRecord& message : branch) {
    out << QStringLiteral("**%1**").arg(speaker(message.role));
    const QString text = message.role == MessageRole::Tool ? fenced(message.text, {}) : toMarkdown(message).trimmed();
    if (!text.isEmpty()) out << text;
    if (const QString why = remark(message); !why.isEmpty()) out << QStringLiteral("*(%1)*").arg(why);
  }
  return out.join(QStringLiteral("\n\n")) + QLatin1Char('\n');
}

}  // namespace ui::models
