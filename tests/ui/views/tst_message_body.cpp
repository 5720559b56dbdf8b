// Answers with thinking and tool calls: what is folded, what a card shows, and that neither costs a
// usual answer anything.
#include "ui/views/message_body.h"

#include <QApplication>
#include <QClipboard>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>

#include "tests/ui/window_stage.h"
#include "ui/panels/chat_list_panel.h"
#include "ui/views/message_text.h"
#include "ui/views/thought_fold.h"
#include "ui/views/tool_call_card.h"
#include "ui/views/transcript_view.h"

using test_support::Stage;
using ui::views::BodyKind;
using ui::views::MessageBody;

namespace {

const char* const kCallAnswer =
    "<think>\nThey want the weather.\n</think>\n\nI look it up.\n<tool_call>\n"
    "{\"name\": \"get_weather\", \"arguments\": {\"town\": \"Oslo\", \"days\": 3}}\n</tool_call>\n";

ui::views::MessageView* viewOfLast(Stage& stage) {
  return stage.window.chatPanel().transcript().view(stage.lastMessage()->id);
}

}  // namespace

class MessageBodyTest : public QObject {
  Q_OBJECT

 private slots:
  void thinkingIsFoldedAndUnfoldsWithAClick();
  void aCallIsACardWithNameAndArguments();
  void aCallThatCannotBeReadIsShownAsItIs();
  void aStreamedAnswerLooksLikeAWholeOne();
  void anOrdinaryAnswerIsOneText();
  void aResultIsTypedAndSentBackAsATool();
  void aTemplateWithoutToolsRefusesInOneSentence();
  void toolsOfAChatReachTheModel();
};

void MessageBodyTest::thinkingIsFoldedAndUnfoldsWithAClick() {
  MessageBody body(BodyKind::Answer);
  body.resize(600, 400);
  body.setMessage("<think>\none two three\n</think>\n\nDone.", false);
  body.show();
  const int folded = body.heightFor(600);
  QCOMPARE(body.thoughts().size(), 1u);
  auto* fold = body.thoughts().front();
  QVERIFY2(fold->button().text().contains("Thought, 3 word"), qPrintable(fold->button().text()));
  QVERIFY(!fold->shownText());
  QCOMPARE(body.text()->toPlainText(), QString("Done."));
  QSignalSpy higher(&body, &MessageBody::heightChanged);
  QTest::mouseClick(&fold->button(), Qt::LeftButton);
  QCOMPARE(higher.size(), 1);
  QVERIFY(body.heightFor(600) > folded);
  QCOMPARE(fold->shownText()->toPlainText(), QString("one two three"));
  QTest::keyClick(&fold->button(), Qt::Key_Space);
  QCOMPARE(body.heightFor(600), folded);
}

void MessageBodyTest::aCallIsACardWithNameAndArguments() {
  MessageBody body(BodyKind::Answer);
  body.setMessage(kCallAnswer, false);
  QCOMPARE(body.calls().size(), 1u);
  auto* card = body.calls().front();
  QCOMPARE(card->title(), QString("Calls get_weather"));
  QCOMPARE(card->body(), QString("town: Oslo\ndays: 3"));
  QVERIFY(body.heightFor(600) > card->height());
  QSignalSpy wanted(&body, &MessageBody::resultWanted);
  body.show();
  QTest::mouseClick(&card->resultButton(), Qt::LeftButton);
  QCOMPARE(wanted.size(), 1);
  QCOMPARE(wanted[0][0].toString(), QString("get_weather"));
}

void MessageBodyTest::aCallThatCannotBeReadIsShownAsItIs() {
  MessageBody body(BodyKind::Answer);
  body.setMessage("<tool_call>\nget_weather(Oslo)\n</tool_call>", false);
  QCOMPARE(body.calls().front()->title(), QString("A tool call that cannot be read"));
  QCOMPARE(body.calls().front()->body(), QString("get_weather(Oslo)"));
  QVERIFY(body.calls().front()->resultButton().isHidden());
}

void MessageBodyTest::aStreamedAnswerLooksLikeAWholeOne() {
  MessageBody whole(BodyKind::Answer), streamed(BodyKind::Answer);
  whole.setMessage(kCallAnswer, false);
  streamed.setMessage({}, true);
  const QString text = QString::fromUtf8(kCallAnswer);
  for (int i = 0; i < text.size(); i += 3) {
    streamed.append(text.mid(i, 3));
    if (!streamed.thoughts().empty() && i + 3 < text.indexOf("</think>")) {
      QVERIFY(streamed.thoughts().front()->button().text().contains("Thinking …"));
    }
  }
  streamed.finish();
  QCOMPARE(streamed.heightFor(600), whole.heightFor(600));
  QCOMPARE(streamed.text()->toPlainText(), whole.text()->toPlainText());
  QCOMPARE(streamed.calls().front()->body(), whole.calls().front()->body());
  QCOMPARE(streamed.thoughts().front()->button().text(), whole.thoughts().front()->button().text());
}

void MessageBodyTest::anOrdinaryAnswerIsOneText() {
  MessageBody body(BodyKind::Answer), question(BodyKind::Plain);
  body.setMessage("Hello **there**.", false);
  QCOMPARE(body.children().size(), 1);
  QCOMPARE(body.text()->toPlainText(), QString("Hello there."));
  question.setMessage("<think>\ntyped by a person\n</think>", false);
  QVERIFY(question.thoughts().empty());
  QCOMPARE(question.text()->toPlainText(), QString("<think>\ntyped by a person\n</think>"));
}

void MessageBodyTest::aResultIsTypedAndSentBackAsATool() {
  QTemporaryDir dir;
  Stage stage(dir.path());
  stage.fake.replyTo = [n = 0](const engine::RequestSpec&) mutable {
    return tests::FakeReply{tests::piecesOf(n++ == 0 ? kCallAnswer : "It is cold in Oslo."), {}, {}};
  };
  stage.start();
  stage.say("weather?");
  stage.play(60);
  auto* card = viewOfLast(stage)->body()->calls().front();
  QTest::mouseClick(&card->resultButton(), Qt::LeftButton);
  auto& composer = stage.window.chatPanel().composer();
  QTest::keyClicks(&composer.edit(), "-4 degrees");
  QTest::keyClick(&composer.edit(), Qt::Key_Return);
  QVERIFY2(composer.error().isEmpty(), qPrintable(composer.error()));
  stage.play(60);
  QCOMPARE(stage.lastMessage()->text, QString("It is cold in Oslo."));
  const auto path = stage.window.conversations().path(stage.window.chatPanel().chatId());
  QCOMPARE(path.size(), 4u);
  const engine::Submit* last = nullptr;
  for (const auto& command : stage.fake.commands) {
    if (const auto* submit = std::get_if<engine::Submit>(&command)) last = submit;
  }
  const std::string json = std::get<engine::ChatPrompt>(last->spec.prompt).conversationJson;
  QVERIFY2(json.find(R"({"role":"tool","content":"-4 degrees"})") != std::string::npos, json.c_str());
  ui::models::ChatStore again(dir.path() + "/chats.sqlite");
  QVERIFY(again.messages(stage.window.chatPanel().chatId())[2].role == ui::models::MessageRole::Tool);
}

void MessageBodyTest::aTemplateWithoutToolsRefusesInOneSentence() {
  QTemporaryDir dir;
  Stage stage(dir.path());
  stage.fake.replyTo = [](const engine::RequestSpec&) { return tests::FakeReply{tests::piecesOf(kCallAnswer), {}, {}}; };
  stage.start();
  auto info = std::make_shared<engine::ModelInfo>(*stage.fake.state().model);
  info->hasTools = false;
  stage.fake.state().model = info;
  stage.fake.publish();
  stage.say("weather?");
  stage.play(60);
  QTest::mouseClick(&viewOfLast(stage)->body()->calls().front()->resultButton(), Qt::LeftButton);
  auto& composer = stage.window.chatPanel().composer();
  QVERIFY2(composer.error().contains("takes no results of tools"), qPrintable(composer.error()));
  QVERIFY(composer.text().isEmpty());
}

void MessageBodyTest::toolsOfAChatReachTheModel() {
  QTemporaryDir dir;
  Stage stage(dir.path());
  stage.start();
  auto& conversations = stage.window.conversations();
  const qint64 chat = stage.window.chatPanel().chatId();
  ui::models::ChatSettings settings = conversations.chat(chat)->settings;
  for (const char* wrong : {"{}", "[{\"x\":1}]", "[", "weather"}) {
    settings.toolsJson = wrong;
    QVERIFY2(!conversations.setSettings(chat, settings).isEmpty(), wrong);
  }
  settings.toolsJson = R"([{"type":"function","function":{"name":"get_weather"}}])";
  QCOMPARE(conversations.setSettings(chat, settings), QString());
  const std::string json = conversations.conversationJson(chat, 0, "hi");
  QVERIFY2(json.find(R"("tools":[{"type":"function","function":{"name":"get_weather"}}])") != std::string::npos, json.c_str());
}

QTEST_MAIN(MessageBodyTest)
#include "tst_message_body.moc"
