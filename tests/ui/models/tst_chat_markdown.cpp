// Messages and chats as Markdown for the clipboard.
#include "ui/models/chat_markdown.h"

#include <QTest>

using namespace ui::models;

namespace {

MessageRecord message(MessageRole role, const QString& text, MessageState state = MessageState::Complete) {
  MessageRecord m;
  m.role = role;
  m.text = text;
  m.state = state;
  return m;
}

}  // namespace

class ChatMarkdownTest : public QObject {
  Q_OBJECT

 private slots:
  void aPlainAnswerIsCopiedByteForByte();
  void thinkingIsQuotedAndACallIsACodeBlock();
  void aChatHasTitlePromptSpeakersAndRemarks();
};

void ChatMarkdownTest::aPlainAnswerIsCopiedByteForByte() {
  const QString text = "  **bold**\n\n```py\nx\n```\n\n";
  QCOMPARE(toMarkdown(message(MessageRole::Assistant, text)), text);
  QCOMPARE(toMarkdown(message(MessageRole::User, "<think>typed</think>")), QString("<think>typed</think>"));
}

void ChatMarkdownTest::thinkingIsQuotedAndACallIsACodeBlock() {
  const QString copied = toMarkdown(message(MessageRole::Assistant,
                                            "<think>\none\n\ntwo\n</think>\n\nSee:\n<tool_call>\n{\"a\":\"```\"}\n</tool_call>\n"));
  QCOMPARE(copied, QString("> *Thinking*\n>\n> one\n>\n> two\n\nSee:\n\n*Tool call*\n\n````json\n{\"a\":\"```\"}\n````"));
}

void ChatMarkdownTest::aChatHasTitlePromptSpeakersAndRemarks() {
  ChatRecord chat;
  chat.title = "Rivers";
  chat.systemPrompt = "Be brief.";
  MessageRecord failed = message(MessageRole::Assistant, "", MessageState::Failed);
  failed.note = "Too long.";
  const QString copied = toMarkdown(chat, {message(MessageRole::User, "Name one."),
                                           message(MessageRole::Assistant, "The Rh", MessageState::Interrupted),
                                           message(MessageRole::Tool, "{\"ok\":1}"), failed});
  QCOMPARE(copied, QString("# Rivers\n\n**System prompt**\n\n> Be brief.\n\n**You**\n\nName one.\n\n**Model**\n\nThe Rh\n\n"
                           "*(interrupted: the program ended here)*\n\n**Result of a tool**\n\n```\n{\"ok\":1}\n```\n\n"
                           "**Model**\n\n*(Too long.)*\n"));
}

QTEST_GUILESS_MAIN(ChatMarkdownTest)
#include "tst_chat_markdown.moc"
