// Our merging against the sentencepiece library's, id for id.
#include <QtTest/QtTest>

#include <atomic>
#include <chrono>
#include <cmath>
#include <ctime>
#include <random>

#include "engine/base/pace.h"
#include "engine/model/gguf_file.h"
#include "engine/model/gguf_vocabulary.h"
#include "engine/text/score_merger.h"
#include "engine/text/tokenizer.h"
#include "engine/text/utf8.h"
#include "tests/support/small_vocabulary.h"

using engine::TokenId;
using engine::text::createTokenizer;
using engine::text::ScoreMerger;
using engine::text::SpecialTokens;
using engine::text::Tokenizer;
using engine::text::TokenType;
using engine::text::Vocabulary;
using Ids = std::vector<TokenId>;

namespace {

const std::string kSpace = "\u2581";

double processorSeconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

std::unique_ptr<Tokenizer> tokenizerOf(Vocabulary vocabulary) {
  vocabulary.addSpacePrefix = false;
  auto tokenizer = createTokenizer(std::move(vocabulary));
  if (!tokenizer) qFatal("%s", tokenizer.error().message.c_str());
  return std::move(tokenizer).value();
}

// Short texts go through the library.
void compareOnRandomTexts(const Vocabulary& given, const std::u32string& letters, int rounds, unsigned longest) {
  const auto tokenizer = tokenizerOf(given);
  const auto merger = ScoreMerger::create(tokenizer->vocabulary());
  QVERIFY(merger != nullptr);
  std::mt19937 random(5);
  for (int round = 0; round < rounds; ++round) {
    std::string text;
    const unsigned numLetters = 2 + static_cast<unsigned>(random() % 12);
    for (unsigned at = 0; at < random() % longest; ++at) {
      engine::text::appendUtf8(text, letters[random() % std::min<std::size_t>(numLetters, letters.size())]);
    }
    Ids ids;
    merger->encode(text, ids);
    const auto expected = tokenizer->encodeRaw(text, SpecialTokens::Plain);
    QVERIFY(expected.isOk());
    QVERIFY2(ids == *expected, qPrintable(QString::fromStdString(text).toHtmlEscaped()));
  }
}

}  // namespace

class TestScoreMerger : public QObject {
  Q_OBJECT

 private slots:
  void itGivesWhatTheLibraryGives();
  void equalScoresMergeFromTheLeft();
  void userDefinedPiecesAreNeverMerged();
  void vocabulariesThatTheLibraryAloneKnowsAreLeftToIt();
  void longTextsAreCutAsShortOnes();
  void longWorkBreathes();
  void aLongWordIsQuick();
  void aRealVocabularyGivesWhatTheLibraryGives();
};

void TestScoreMerger::itGivesWhatTheLibraryGives() {
  const Vocabulary vocabulary = test_support::sentencePieceVocabulary(
      {"he", "ll", "hell", "hello", kSpace + "hello", kSpace, "h", "e", "l", "lo", "x", "xx", "xxxx", "\n",
       kSpace + kSpace, "q\u00E9", "ehe", "lh"});
  compareOnRandomTexts(vocabulary, U"helox \n\u00E9q\u65E5\U0001F999", 3000, 60);
}

void TestScoreMerger::equalScoresMergeFromTheLeft() {
  Vocabulary vocabulary = test_support::sentencePieceVocabulary({"ab", "ba", "aba", "bab", "a", "b", "aa", "bb"});
  for (float& score : vocabulary.scores) score = score < -3 ? -2.0f : -1.0f;
  compareOnRandomTexts(vocabulary, U"ab", 2000, 40);
}

void TestScoreMerger::userDefinedPiecesAreNeverMerged() {
  Vocabulary vocabulary = test_support::sentencePieceVocabulary({"he", "hel", "lo", "l", "e", "h", "o", kSpace, "eh"});
  for (const char* text : {"  ", "    ", "hello", "<tag>", "oh"}) {
    test_support::addToken(vocabulary, text, TokenType::UserDefined);
  }
  compareOnRandomTexts(vocabulary, U"hel o<tag>", 3000, 40);
}

void TestScoreMerger::vocabulariesThatTheLibraryAloneKnowsAreLeftToIt() {
  Vocabulary unused = test_support::sentencePieceVocabulary({"a", "b"});
  test_support::addToken(unused, "ab", TokenType::Unused);
  QVERIFY(ScoreMerger::create(unused) == nullptr);
  Vocabulary bytes = test_support::sentencePieceVocabulary({"a", "b"});
  for (TokenType& type : bytes.types) {
    if (type != TokenType::Byte) continue;
    type = TokenType::Control;
    break;
  }
  QVERIFY(ScoreMerger::create(bytes) == nullptr);
  Vocabulary noNumber = test_support::sentencePieceVocabulary({"a", "b"});
  noNumber.scores.back() = std::nanf("");
  QVERIFY(ScoreMerger::create(noNumber) == nullptr);
}

void TestScoreMerger::longTextsAreCutAsShortOnes() {
  const auto tokenizer = tokenizerOf(test_support::sentencePieceVocabulary({"ab", "abab", "a", "b", kSpace}));
  std::string text;
  Ids expected;
  while (text.size() < 40'000) {  // nothing merges across a space here
    text += "ababab ";
    const auto ids = tokenizer->encodeRaw("ababab ", SpecialTokens::Plain);
    expected.insert(expected.end(), ids->begin(), ids->end());
  }
  QCOMPARE(*tokenizer->encodeRaw(text, SpecialTokens::Plain), expected);
}

void TestScoreMerger::longWorkBreathes() {
  const auto tokenizer = tokenizerOf(test_support::sentencePieceVocabulary({"ab", "abab", "a", "b"}));
  std::string text;
  while (text.size() < 40'000) text += "abab";
  const std::atomic<bool> isWanted{true};
  const engine::Pace pace(isWanted, {std::chrono::nanoseconds(0), std::chrono::nanoseconds(0)});
  QCOMPARE(tokenizer->encodeRaw(text, SpecialTokens::Plain)->size(), std::size_t{10'000});
  QVERIFY2(pace.numRests() > 40'000 * 2 / 16, qPrintable(QString::number(pace.numRests())));
}

void TestScoreMerger::aLongWordIsQuick() {
  const auto tokenizer = tokenizerOf(test_support::sentencePieceVocabulary({"x", "xx", "xxxx", "xxxxxxxx"}));
  const std::string word(3'000'000, 'x');
  const double before = processorSeconds();
  const auto ids = tokenizer->encodeRaw(word, SpecialTokens::Plain);
  const double took = processorSeconds() - before;
  QCOMPARE(ids->size(), std::size_t{3'000'000 / 8});
  qInfo("3 MB of one letter: %.2f s of processor time", took);
  QVERIFY2(took < 5, "a sanitizer may take five times as long");
}

void TestScoreMerger::aRealVocabularyGivesWhatTheLibraryGives() {
  const QString path = qEnvironmentVariable("TESSERA_MODELS") + "/gemma3-270m-q4_k_m.gguf";
  if (!QFile::exists(path)) QSKIP("gemma3-270m-q4_k_m.gguf is not in $TESSERA_MODELS");
  const auto file = engine::model::GgufFile::open(path.toStdString());
  QVERIFY(file.isOk());
  const auto vocabulary = engine::model::readVocabulary(*file);
  QVERIFY(vocabulary.isOk());
  compareOnRandomTexts(*vocabulary, U"the \nan i\u00E9os\u65E5\U0001F999xr  1\u4E2D<>/b\u0000", 3000, 400);
  const auto tokenizer = tokenizerOf(*vocabulary);
  const auto merger = ScoreMerger::create(tokenizer->vocabulary());
  QFile licence("/usr/share/common-licenses/GPL-3");
  if (!licence.open(QIODevice::ReadOnly)) return;
  const std::string prose = licence.readAll().left(16'000).toStdString();  // short enough for the library
  Ids ids;
  merger->encode(prose, ids);
  QCOMPARE(ids, *tokenizer->encodeRaw(prose, SpecialTokens::Plain));
}

QTEST_GUILESS_MAIN(TestScoreMerger)
#include "tst_score_merger.moc"
