// Streaming Markdown: pieces are final only when they are, and nothing is lost whatever the cuts.
#include "ui/views/markdown_feed.h"

#include <QAbstractTextDocumentLayout>
#include <QRandomGenerator>
#include <QTest>
#include <QTextBlock>
#include <QTextList>

#include "tests/support/demo_texts.h"
#include "ui/views/code_highlighting.h"
#include "ui/views/message_document.h"
#include "ui/views/message_text.h"

using namespace ui::views;

namespace {

QString kindsOf(const std::vector<MarkdownPiece>& pieces) {
  QString out;
  for (const auto& piece : pieces) out += QLatin1Char("pc[=]"[int(piece.kind)]);
  return out;
}

QString plainOf(const QString& markdown, const QList<int>& cuts) {
  MessageDocument document;
  int from = 0;
  for (int cut : cuts) {
    document.appendMessage(markdown.mid(from, cut - from));
    from = cut;
  }
  document.appendMessage(markdown.mid(from));
  document.finishMessage();
  return document.toPlainText();
}

const char* const kMixed =
    "# Title\n\nSome *text* with `code`.\n\n- one\n- two\n\n  still two\n- three\n\n```cpp\nint x = 1;\n\n"
    "// a comment\n```\n\n1. first\n2. second\n\nAfter.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nEnd <b>not html</b>.";

}  // namespace

class MarkdownFeedTest : public QObject {
  Q_OBJECT

 private slots:
  void paragraphsAreFinalAtABlankLine();
  void listsStayOpenOverBlankLines();
  void fencesBecomeLines();
  void anUnclosedFenceEndsWithTheText();
  void longParagraphsAreCutAndJoinedAtTheEnd();
  void theEndResultDoesNotDependOnTheCuts();
  void numberedListsGoOnOverPieces();
  void htmlAndImagesStayText();
  void closedCodeIsHighlighted();
  void aCardFitsAroundCodeThatBeginsOrEndsAMessage();
};

void MarkdownFeedTest::paragraphsAreFinalAtABlankLine() {
  MarkdownFeed feed;
  feed.append("First line\nsecond line\n\n");
  QVERIFY(feed.takeFinal().empty());  // could still be the start of something longer
  feed.append("Next paragraph");
  const auto pieces = feed.takeFinal();
  QCOMPARE(kindsOf(pieces), QString("p"));
  QCOMPARE(pieces[0].text.trimmed(), QString("First line\nsecond line"));
  QCOMPARE(feed.tail(), QString("Next paragraph"));
}

void MarkdownFeedTest::listsStayOpenOverBlankLines() {
  MarkdownFeed feed;
  feed.append("1. a\n\n   more of a\n\n2. b\n\n");
  QVERIFY(feed.takeFinal().empty());
  feed.append("A paragraph.\n");
  QCOMPARE(kindsOf(feed.takeFinal()), QString("p"));
}

void MarkdownFeedTest::fencesBecomeLines() {
  MarkdownFeed feed;
  feed.append("Look:\n```python\nx = 1\n\n    y");
  QCOMPARE(kindsOf(feed.takeFinal()), QString("p[=="));
  QVERIFY(feed.isInCode());
  QCOMPARE(feed.tail(), QString("    y"));
  feed.append(" = 2\n`` not the end\n```\nafter");
  const auto pieces = feed.takeFinal();
  QCOMPARE(kindsOf(pieces), QString("==]"));
  QCOMPARE(pieces[0].text, QString("    y = 2"));
  QCOMPARE(feed.tail(), QString("after"));
}

void MarkdownFeedTest::anUnclosedFenceEndsWithTheText() {
  MarkdownFeed feed;
  feed.append("```\nlast line");
  feed.finish();
  QCOMPARE(kindsOf(feed.takeFinal()), QString("[=]"));
  QVERIFY(!feed.isInCode());
}

void MarkdownFeedTest::longParagraphsAreCutAndJoinedAtTheEnd() {
  MessageDocument document;
  const QString sentence = "This sentence has no end in sight. ";
  for (int i = 0; i < 400; ++i) document.appendMessage(sentence);
  QVERIFY(document.blockCount() > 3);
  document.finishMessage();
  QCOMPARE(document.blockCount(), 1);
  QCOMPARE(document.toPlainText().trimmed(), sentence.repeated(400).trimmed());
}

void MarkdownFeedTest::theEndResultDoesNotDependOnTheCuts() {
  for (const QString& markdown : {QString::fromUtf8(kMixed), QString::fromUtf8(tests::kSkyAnswer)}) {
    const QString whole = plainOf(markdown, {});
    QVERIFY(whole.size() > 60);
    QRandomGenerator random(3);
    for (int round = 0; round < 60; ++round) {
      QList<int> cuts;
      for (int at = random.bounded(1, 9); at < markdown.size(); at += random.bounded(1, 9)) cuts << at;
      QCOMPARE(plainOf(markdown, cuts), whole);
    }
  }
}

void MarkdownFeedTest::numberedListsGoOnOverPieces() {
  MessageDocument document;
  document.appendMessage("1. one\n2. two\n\n```\ncode\n```\n\n3. three\n");
  document.finishMessage();
  QCOMPARE(document.toPlainText(), QString("one\ntwo\ncode\nthree"));
  QTextBlock last = document.lastBlock();
  while (last.isValid() && !last.textList()) last = last.previous();
  QVERIFY(last.isValid());
  QCOMPARE(last.textList()->itemText(last), QString("3."));
}

void MarkdownFeedTest::htmlAndImagesStayText() {
  MessageDocument document;
  document.setMessage("<b>bold</b> ![x](http://127.0.0.1:9/secret.png) <script>alert(1)</script>", true);
  QVERIFY(document.toPlainText().contains("<b>bold</b>"));
  QVERIFY(document.toPlainText().contains("<script>"));
  QCOMPARE(document.resource(QTextDocument::ImageResource, QUrl("http://127.0.0.1:9/secret.png")), QVariant());
}

void MarkdownFeedTest::aCardFitsAroundCodeThatBeginsOrEndsAMessage() {
  for (bool isStreamed : {false, true}) {
    MessageText text;
    if (isStreamed) {
      for (const char* piece : {"``", "`py\n", "x", " = 1\n", "```"}) text.appendMessage(piece);
      text.finishMessage();
    } else {
      text.setMessage("```py\nx = 1\n```", true);
    }
    text.resize(400, text.heightFor(400));
    const auto& document = text.messageDocument();
    const QRectF line = document.documentLayout()->blockBoundingRect(document.firstBlock());
    QVERIFY2(line.top() >= 28, qPrintable(QString::number(line.top())));  // the label stands above it
    QVERIFY2(text.height() >= line.bottom() + 12, qPrintable(QString::number(text.height() - line.bottom())));
  }
}

void MarkdownFeedTest::closedCodeIsHighlighted() {
  MessageDocument document;
  document.appendMessage("```python\nimport math  # why\nx = 'text'\n");
  QVERIFY(document.findBlockByNumber(0).layout()->formats().isEmpty());
  document.appendMessage("```\n");
  QCOMPARE(document.codeBlocks().size(), 1u);
  QVERIFY(document.codeBlocks()[0].isClosed);
  QCOMPARE(document.codeText(document.codeBlocks()[0]), QString("import math  # why\nx = 'text'"));
  QCOMPARE(document.findBlockByNumber(0).layout()->formats().size(), 2);
  CodeState state = CodeState::Plain;
  const auto& palette = ui::style::Palette::light();
  QCOMPARE(highlightLine("/* open", "cpp", palette, state).size(), 1);
  QCOMPARE(state, CodeState::InBlockComment);
  QCOMPARE(highlightLine("still */ int x;", "cpp", palette, state).size(), 2);
  QCOMPARE(state, CodeState::Plain);
}

QTEST_MAIN(MarkdownFeedTest)
#include "tst_markdown_feed.moc"
