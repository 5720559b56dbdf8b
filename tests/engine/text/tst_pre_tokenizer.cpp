#include <QtTest/QtTest>

#include <algorithm>
#include <random>

#include "engine/text/pre_tokenizer.h"
#include "engine/text/utf8.h"
#include "tests/support/processor_timer.h"

using engine::ErrorCode;
using engine::text::PreTokenizer;
using engine::text::preTokenizerRules;

namespace {

QStringList wordsOf(const std::string& rule, const std::string& text) {
  const auto preTokenizer = PreTokenizer::create(rule);
  const auto split = (*preTokenizer)->split(text);
  QStringList words;
  for (const std::string_view word : *split) {
    words << QString::fromUtf8(word.data(), static_cast<qsizetype>(word.size()));
  }
  return words;
}

// Later patterns cut the matches of earlier ones again: ASCII letters are among deepseek-llm's
// marks, and so part from the letters beside them.
template <typename AddRow>
void addDeepseekRows(const AddRow& row) {
  row("deepseek-llm", "x\n\ny", {"x", "\n", "\n", "y"});
  row("deepseek-llm", "x\r\n y", {"x", "\r", "\n", " y"});
  row("deepseek-llm", "a 123", {"a", " ", "1", "2", "3"});
  row("deepseek-llm", "Hi, you!  ", {"Hi", ",", " you", "!", "  "});
  row("deepseek-llm", "a  b", {"a", " ", " b"});
  row("deepseek-llm", "caf\u00E9 \u03B1\u03B2", {"caf", "\u00E9", " \u03B1\u03B2"});
  row("deepseek-llm", "\u4F60\u597D\uFF0C\u4E16\u754C", {"\u4F60\u597D", "\uFF0C", "\u4E16\u754C"});
  row("deepseek-llm", "\uD55C\uAD6D 1", {"\uD55C\uAD6D", " ", "1"});
  row("deepseek-coder", "f(x);\n\n", {"f", "(", "x", ");", "\n", "\n"});
  row("deepseek-coder", "b = 23", {"b", " = ", "2", "3"});  // no punctuation: a symbol
  row("deepseek-coder", "x_1 a-b", {"x", "_", "1", " a", "-", "b"});
  row("deepseek-coder", "Stra\u00DFe \u65E5\u672C", {"Stra\u00DFe", " ", "\u65E5\u672C"});
}

}  // namespace

class TestPreTokenizer : public QObject {
  Q_OBJECT

 private slots:
  void anUnknownRuleIsNamed();
  void eachRuleCutsItsOwnWay_data();
  void eachRuleCutsItsOwnWay();
  void wordsJoinToTheText_data();
  void wordsJoinToTheText();
  void oneMegabyteIsQuick_data();
  void oneMegabyteIsQuick();
};

void TestPreTokenizer::anUnknownRuleIsNamed() {
  const auto preTokenizer = PreTokenizer::create("martian-v3");
  QVERIFY(!preTokenizer);
  QCOMPARE(preTokenizer.error().code, ErrorCode::Unsupported);
  QVERIFY(preTokenizer.error().message.find("martian-v3") != std::string::npos);
  QVERIFY(preTokenizer.error().message.find("qwen2") != std::string::npos);
  QVERIFY(!PreTokenizer::create(""));
}

void TestPreTokenizer::eachRuleCutsItsOwnWay_data() {
  QTest::addColumn<QString>("rule");
  QTest::addColumn<QString>("text");
  QTest::addColumn<QStringList>("words");
  const auto row = [](const char* rule, const char* text, const QStringList& words) {
    QTest::addRow("%s: %s", rule, text) << rule << text << words;
  };
  row("gpt-2", "x\n\ny", {"x", "\n", "\n", "y"});
  row("smollm", "x\n\ny", {"x", "\n", "\n", "y"});
  row("qwen2", "x\n\ny", {"x", "\n\n", "y"});
  row("llama-bpe", "x\n\ny", {"x", "\n\n", "y"});
  row("gpt-2", "a 1234", {"a", " 1234"});
  row("smollm", "a 123", {"a", " ", "1", "2", "3"});
  row("smollm", "a  1", {"a", "  ", "1"});  // the look-ahead sees the end of its own piece
  row("qwen2", "a 1234", {"a", " ", "1", "2", "3", "4"});
  row("llama-bpe", "a 1234", {"a", " ", "123", "4"});
  row("gpt-2", "I'LL we'll", {"I", "'", "LL", " we", "'ll"});
  row("qwen2", "I'LL we'll", {"I", "'LL", " we", "'ll"});
  row("qwen2", "f(x);\n\n  y", {"f", "(x", ");\n\n", " ", " y"});
  row("llama-bpe", "   z  ", {"  ", " z", "  "});
  row("gpt-2", "\u00A0\u3000a", {"\u00A0", "\u3000", "a"});
  row("gpt-2", "!\u180E!", {"!\u180E!"});  // not white space since Unicode 6.3
  row("gpt-2", "caf\u00E9 \u65E5\u672C!", {"caf\u00E9", " \u65E5\u672C", "!"});
  for (const char* rule : {"starcoder", "refact", "command-r"}) {
    row(rule, "a 1234", {"a", " ", "1", "2", "3", "4"});
    row(rule, "x\n\n  y's", {"x", "\n\n ", " y", "'s"});
  }
  row("mpt", "a 1234", {"a", " 1234"});
  row("mpt", "x\n\ny", {"x", "\n", "\n", "y"});
  row("falcon", "x\n\ny", {"x", "\n", "\n", "y"});
  row("falcon", "a 12345", {"a", " ", "123", "45"});
  row("falcon", "1234567", {"123", "456", "7"});
  row("falcon", "it's (ok)!", {"it", "'", "s", " ", "(", "ok", ")!"});  // marks go first
  row("falcon", "$5+5", {"$", "5", "+", "5"});
  addDeepseekRows(row);
}

void TestPreTokenizer::eachRuleCutsItsOwnWay() {
  QFETCH(QString, rule);
  QFETCH(QString, text);
  QFETCH(QStringList, words);
  QCOMPARE(wordsOf(rule.toStdString(), text.toStdString()), words);
}

void TestPreTokenizer::wordsJoinToTheText_data() {
  QTest::addColumn<QString>("rule");
  for (const auto& rule : preTokenizerRules()) {
    const std::string name(rule.name);
    QTest::newRow(name.c_str()) << QString::fromStdString(name);
  }
}

void TestPreTokenizer::wordsJoinToTheText() {
  QFETCH(QString, rule);
  const auto preTokenizer = PreTokenizer::create(rule.toStdString());
  const std::u32string letters =
      U" \n\r\t'sSab1\u0663.,\u00E9\u00A0\u180E\u65E5\U0001F999\u0301\0"
      U"\u2028";
  std::mt19937 random(11);
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    const int length = static_cast<int>(random() % 20);
    for (int at = 0; at < length; ++at) {
      engine::text::appendUtf8(text, letters[random() % letters.size()]);
    }
    const auto words = (*preTokenizer)->split(text);
    std::string joined;
    for (const std::string_view word : *words) {
      QVERIFY(!word.empty());
      joined += word;
    }
    QCOMPARE(joined, text);
  }
}

void TestPreTokenizer::oneMegabyteIsQuick_data() {
  QTest::addColumn<QString>("rule");
  QTest::addColumn<QString>("unit");
  for (const auto& rule : preTokenizerRules()) {
    for (const char* unit : {" ", "a", "\n", "1", "don't do that, 12 times!\r\n", "!", "\u65E5"}) {
      const std::string name(rule.name);
      QTest::addRow("%s of %s", name.c_str(), unit) << QString::fromStdString(name) << unit;
    }
    const std::string name(rule.name);
    QTest::addRow("%s of long gaps", name.c_str())
        << QString::fromStdString(name) << QString(20000, ' ') + "1";
  }
}

void TestPreTokenizer::oneMegabyteIsQuick() {
  QFETCH(QString, rule);
  QFETCH(QString, unit);
  const auto preTokenizer = PreTokenizer::create(rule.toStdString());
  std::string text;
  while (text.size() < (1 << 20)) text += unit.toStdString();
  test_support::ProcessorTimer timer;
  timer.start();
  const auto words = (*preTokenizer)->split(text);
  const std::int64_t elapsedMs = timer.elapsed();
  QVERIFY2(words.isOk(), words.isOk() ? "" : words.error().message.c_str());
  QVERIFY2(elapsedMs < 3000, qPrintable(QString("%1 ms").arg(elapsedMs)));  // ~50 ms when quiet
}

QTEST_GUILESS_MAIN(TestPreTokenizer)
#include "tst_pre_tokenizer.moc"
