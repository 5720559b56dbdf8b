// What an answer is made of: thinking, text and tool calls, however the text arrives.
#include "ui/models/answer_parts.h"

#include <QTest>

using ui::models::AnswerPart;
using ui::models::AnswerSplitter;
using ui::models::PartKind;
using ui::models::partsOf;
using ui::models::toolCallFrom;

namespace {

QString shown(const std::vector<AnswerPart>& parts) {
  static const char* const kNames[] = {"text", "thinking", "call"};
  QStringList out;
  for (const auto& part : parts) {
    out << QString("%1[%2]").arg(kNames[int(part.kind)], QString(part.text).replace('\n', "\\n"));
  }
  return out.join(' ');
}

}  // namespace

class AnswerPartsTest : public QObject {
  Q_OBJECT

 private slots:
  void cutsAnAnswer_data();
  void cutsAnAnswer();
  void theWayTheTextArrivesChangesNothing_data() { cutsAnAnswer_data(); }
  void theWayTheTextArrivesChangesNothing();
  void aTagThatIsStillComingIsNotShown();
  void thinkingWithoutAnOpeningTagIsRecognisedLater();
  void readsCalls_data();
  void readsCalls();
};

void AnswerPartsTest::cutsAnAnswer_data() {
  QTest::addColumn<QString>("answer");
  QTest::addColumn<QString>("parts");
  QTest::newRow("plain") << "Just text.\nTwo lines.\n" << "text[Just text.\\nTwo lines.\\n]";
  QTest::newRow("empty") << "" << "";
  QTest::newRow("thinking") << "<think>\nLet me see.\n</think>\n\nYes." << "thinking[Let me see.\\n] text[Yes.]";
  QTest::newRow("blank before thinking") << "\n<think>a</think>b" << "thinking[a] text[b]";
  QTest::newRow("empty thinking") << "<think>\n\n</think>\n\nYes." << "thinking[] text[Yes.]";
  QTest::newRow("thinking never ends") << "<think>\nfor ever" << "thinking[for ever]";
  QTest::newRow("no opening tag") << "Let me see.\n</think>\n\nYes." << "thinking[Let me see.\\n] text[Yes.]";
  QTest::newRow("a call") << "I look.\n<tool_call>\n{\"name\":\"f\"}\n</tool_call>" << "text[I look.\\n] call[{\"name\":\"f\"}\\n]";
  QTest::newRow("two calls") << "<tool_call>1</tool_call>\n<tool_call>2</tool_call>\nDone." << "call[1] call[2] text[Done.]";
  QTest::newRow("thinking, then a call") << "<think>a</think>\n<tool_call>1</tool_call>" << "thinking[a] call[1]";
  QTest::newRow("tags inside a sentence") << "Use <think> and <tool_call> so." << "text[Use <think> and <tool_call> so.]";
  QTest::newRow("tags inside a fence") << "```\n<tool_call>\n</think>\n```\n" << "text[```\\n<tool_call>\\n</think>\\n```\\n]";
  QTest::newRow("thinking after text is text") << "Hello.\n<think>\nx" << "text[Hello.\\n<think>\\nx]";
  QTest::newRow("half a tag at the end") << "a\n<tool_c" << "text[a\\n<tool_c]";
  QTest::newRow("a tag that is another one") << "<thinking>\nno" << "text[<thinking>\\nno]";
  QTest::newRow("lone surrogate") << QString("<think>") + QChar(0xd83d) + "</think>x" << QString("thinking[") + QChar(0xd83d) + "] text[x]";
}

void AnswerPartsTest::cutsAnAnswer() {
  QFETCH(QString, answer);
  QTEST(shown(partsOf(answer)), "parts");
}

void AnswerPartsTest::theWayTheTextArrivesChangesNothing() {
  QFETCH(QString, answer);
  for (int piece = 1; piece <= 7; ++piece) {
    AnswerSplitter splitter;
    for (int i = 0; i < answer.size(); i += piece) splitter.append(answer.mid(i, piece));
    splitter.finish();
    QTEST(shown(splitter.parts()), "parts");
  }
}

void AnswerPartsTest::aTagThatIsStillComingIsNotShown() {
  AnswerSplitter splitter;
  splitter.append("<thi");
  QVERIFY(splitter.parts().empty());
  splitter.append("nk>deep</thi");
  QCOMPARE(shown(splitter.parts()), QString("thinking[deep]"));
  QVERIFY(!splitter.parts().front().isClosed);
  splitter.append("nk>\n\nso");
  QVERIFY(splitter.parts().front().isClosed);
  QCOMPARE(shown(splitter.parts()), QString("thinking[deep] text[so]"));
}

void AnswerPartsTest::thinkingWithoutAnOpeningTagIsRecognisedLater() {
  AnswerSplitter splitter;
  splitter.append("First I\nthink.\n");
  QCOMPARE(splitter.parts().front().kind, PartKind::Text);
  const int before = splitter.revision();
  splitter.append("</think>\nAnswer");
  QVERIFY(splitter.revision() > before);
  QCOMPARE(shown(splitter.parts()), QString("thinking[First I\\nthink.\\n] text[Answer]"));
}

void AnswerPartsTest::readsCalls_data() {
  QTest::addColumn<QString>("json");
  QTest::addColumn<QString>("call");
  QTest::newRow("usual") << R"({"name":"get","arguments":{"town":"Oslo","days":3,"wide":true}})" << "get(town=Oslo, days=3, wide=true)";
  QTest::newRow("order kept") << R"({"arguments":{"z":1,"a":2},"name":"f"})" << "f(z=1, a=2)";
  QTest::newRow("parameters") << R"({"name":"f","parameters":{"x":null}})" << "f(x=null)";
  QTest::newRow("no arguments") << R"({"name":"f"})" << "f()";
  QTest::newRow("not JSON") << "get_weather(Oslo)" << "none";
  QTest::newRow("no name") << R"({"arguments":{}})" << "none";
  QTest::newRow("a list") << R"([1,2])" << "none";
  QTest::newRow("arguments are a string") << R"({"name":"f","arguments":"x"})" << "none";
  QTest::newRow("cut") << R"({"name":"f","argum)" << "none";
}

void AnswerPartsTest::readsCalls() {
  QFETCH(QString, json);
  const auto call = toolCallFrom(json);
  QString text = "none";
  if (call) {
    QStringList arguments;
    for (const auto& [key, value] : call->arguments) arguments << key + "=" + value;
    text = QString("%1(%2)").arg(call->name, arguments.join(", "));
  }
  QTEST(text, "call");
}

QTEST_GUILESS_MAIN(AnswerPartsTest)
#include "tst_answer_parts.moc"
