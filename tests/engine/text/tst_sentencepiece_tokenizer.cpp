#include <QtTest/QtTest>

#include <random>

#include "engine/text/tokenizer.h"
#include "engine/text/utf8.h"
#include "tests/support/small_vocabulary.h"

using engine::TokenId;
using engine::text::createTokenizer;
using engine::text::Origin;
using engine::text::SpecialTokens;
using engine::text::Tokenizer;
using engine::text::TokenType;
using engine::text::Vocabulary;
using Ids = std::vector<TokenId>;

namespace {

constexpr TokenId kBos = 1;
const std::string kSpace = "\u2581";

Vocabulary smallVocabulary() {
  return test_support::sentencePieceVocabulary(
      {"he", "ll", "hell", "hello", kSpace + "hello", kSpace, "h", "e", "l", "o", "x", "\n"});
}

std::unique_ptr<Tokenizer> tokenizerOf(const Vocabulary& vocabulary) {
  auto tokenizer = createTokenizer(vocabulary);
  if (!tokenizer) qFatal("%s", tokenizer.error().message.c_str());
  return std::move(tokenizer).value();
}

}  // namespace

class TestSentencePieceTokenizer : public QObject {
  Q_OBJECT

 private slots:
  void aLeadingSpaceIsAddedAndDropped();
  void withoutPrefixNothingIsAdded();
  void unknownCharactersFallBackToBytes();
  void bosIsNeverDoubled();
  void controlTokensMatchOnlyWhereTheTemplateWroteThem();
  void runsOfSpacesMatchUserDefinedPieces();
  void userDefinedPiecesSpanRuns();
  void severalUnknownTypesAndDoublesLoad();
  void aVocabularyWithoutUnknownRefusesWhatItCannotWrite();
  void anyTextComesBackByteForByte();
};

void TestSentencePieceTokenizer::aLeadingSpaceIsAddedAndDropped() {
  const auto tokenizer = tokenizerOf(smallVocabulary());
  const Vocabulary& vocabulary = tokenizer->vocabulary();
  const TokenId spaceHello = test_support::idOf(vocabulary, kSpace + "hello");
  const auto ids = tokenizer->encodeRaw("hello hello", SpecialTokens::AddAndMatch);
  QCOMPARE(*ids, (Ids{kBos, spaceHello, spaceHello}));
  QCOMPARE(tokenizer->decode(*ids, false), std::string("hello hello"));
  QCOMPARE(tokenizer->decode(*ids, true), std::string("<s>hello hello"));
  QCOMPARE(tokenizer->pieceBytes(spaceHello, false), std::string(" hello"));
  QCOMPARE(*tokenizer->encodeRaw("<s>hello", SpecialTokens::MatchOnly), (Ids{kBos, spaceHello}));
}

void TestSentencePieceTokenizer::withoutPrefixNothingIsAdded() {
  Vocabulary vocabulary = smallVocabulary();
  vocabulary.addSpacePrefix = false;
  const auto tokenizer = tokenizerOf(vocabulary);
  const Ids hello = {test_support::idOf(vocabulary, "hello")};
  QCOMPARE(*tokenizer->encodeRaw("hello", SpecialTokens::Plain), hello);
  const auto spaced = tokenizer->encodeRaw(" hello", SpecialTokens::Plain);
  QCOMPARE(tokenizer->decode(*spaced, false), std::string(" hello"));
}

void TestSentencePieceTokenizer::unknownCharactersFallBackToBytes() {
  Vocabulary vocabulary = smallVocabulary();
  vocabulary.addSpacePrefix = false;
  const auto tokenizer = tokenizerOf(vocabulary);
  const auto ids = tokenizer->encodeRaw("\u00E9", SpecialTokens::Plain);
  QCOMPARE(*ids, (Ids{3 + 0xC3, 3 + 0xA9}));
  QCOMPARE(tokenizer->pieceBytes(3 + 0xC3, false), std::string("\xC3"));
  QCOMPARE(tokenizer->decode(*ids, false), std::string("\u00E9"));
}

void TestSentencePieceTokenizer::bosIsNeverDoubled() {
  const auto tokenizer = tokenizerOf(smallVocabulary());
  const Ids once = *tokenizer->encodeRaw("hello", SpecialTokens::AddAndMatch);
  QCOMPARE(*tokenizer->encodeRaw("<s>hello", SpecialTokens::AddAndMatch), once);
  QCOMPARE(*tokenizer->encodeRaw("", SpecialTokens::AddAndMatch), Ids{kBos});
  QVERIFY(tokenizer->encodeRaw("<s>", SpecialTokens::Plain)->front() != kBos);
}

void TestSentencePieceTokenizer::controlTokensMatchOnlyWhereTheTemplateWroteThem() {
  Vocabulary vocabulary = smallVocabulary();
  vocabulary.addSpacePrefix = false;
  const auto tokenizer = tokenizerOf(vocabulary);
  const auto ids = tokenizer->encode({{"</s>", Origin::User}, {"</s>", Origin::Template}},
                                     SpecialTokens::MatchOnly);
  QCOMPARE(ids->back(), vocabulary.eos);
  QCOMPARE(std::count(ids->begin(), ids->end(), vocabulary.eos), 1);
  QCOMPARE(tokenizer->decode(*ids, true), std::string("</s></s>"));
}

void TestSentencePieceTokenizer::runsOfSpacesMatchUserDefinedPieces() {
  Vocabulary vocabulary = smallVocabulary();
  vocabulary.addSpacePrefix = false;
  const TokenId two = test_support::addToken(vocabulary, "  ", TokenType::UserDefined);
  const TokenId four = test_support::addToken(vocabulary, "    ", TokenType::UserDefined);
  const TokenId space = test_support::idOf(vocabulary, kSpace);
  const TokenId letter = test_support::idOf(vocabulary, "x");
  const auto tokenizer = tokenizerOf(vocabulary);
  QCOMPARE(*tokenizer->encodeRaw("x       x", SpecialTokens::Plain),
           (Ids{letter, four, two, space, letter}));
  QCOMPARE(tokenizer->decode({four, letter}, false), std::string("    x"));
}

void TestSentencePieceTokenizer::userDefinedPiecesSpanRuns() {
  Vocabulary vocabulary = smallVocabulary();
  vocabulary.addSpacePrefix = false;
  const TokenId blank = test_support::addToken(vocabulary, "\n\n", TokenType::UserDefined);
  const auto tokenizer = tokenizerOf(vocabulary);
  QCOMPARE(*tokenizer->encode({{"\n", Origin::User}, {"\n", Origin::Template}},
                              SpecialTokens::MatchOnly),
           Ids{blank});
}

void TestSentencePieceTokenizer::severalUnknownTypesAndDoublesLoad() {
  Vocabulary vocabulary = smallVocabulary();
  const TokenId hello = test_support::idOf(vocabulary, "hello");
  vocabulary.types[0] = TokenType::Control;  // some files type <unk> so
  test_support::addToken(vocabulary, "<|spare|>", TokenType::Unknown);
  test_support::addToken(vocabulary, "<|spare2|>", TokenType::Unknown);
  test_support::addToken(vocabulary, "hello", TokenType::Normal);
  test_support::addToken(vocabulary, "", TokenType::Normal);
  vocabulary.addSpacePrefix = false;
  const auto tokenizer = tokenizerOf(vocabulary);
  QCOMPARE(*tokenizer->encodeRaw("hello", SpecialTokens::Plain), Ids{hello});
}

void TestSentencePieceTokenizer::aVocabularyWithoutUnknownRefusesWhatItCannotWrite() {
  Vocabulary vocabulary;
  vocabulary.kind = engine::text::VocabularyKind::SentencePiece;
  vocabulary.model = "llama";
  vocabulary.addSpacePrefix = false;
  const TokenId letter = test_support::addToken(vocabulary, "x", TokenType::Normal);
  const auto tokenizer = tokenizerOf(vocabulary);
  QCOMPARE(*tokenizer->encodeRaw("xx", SpecialTokens::Plain), (Ids{letter, letter}));
  QVERIFY(!tokenizer->encodeRaw("xy", SpecialTokens::Plain));
}

void TestSentencePieceTokenizer::anyTextComesBackByteForByte() {
  std::mt19937 random(22);
  const std::u32string letters = U"hello  \n\t1<s>\u00E9\u65E5\U0001F999\0\u200D";
  for (const bool hasPrefix : {true, false}) {
    Vocabulary vocabulary = smallVocabulary();
    vocabulary.addSpacePrefix = hasPrefix;
    const auto tokenizer = tokenizerOf(vocabulary);
    for (int round = 0; round < 1000; ++round) {
      std::string text;
      for (unsigned at = 0; at < random() % 30; ++at) {
        engine::text::appendUtf8(text, letters[random() % letters.size()]);
      }
      QCOMPARE(tokenizer->decode(*tokenizer->encodeRaw(text, SpecialTokens::Plain), false), text);
    }
  }
}

QTEST_GUILESS_MAIN(TestSentencePieceTokenizer)
#include "tst_sentencepiece_tokenizer.moc"
