#include <QtTest/QtTest>

#include <atomic>
#include <chrono>
#include <random>

#include "engine/base/pace.h"
#include "engine/text/tokenizer.h"
#include "engine/text/utf8.h"
#include "tests/support/small_vocabulary.h"

using engine::ErrorCode;
using engine::TokenId;
using engine::text::createTokenizer;
using engine::text::Origin;
using engine::text::SpecialTokens;
using engine::text::Tokenizer;
using engine::text::TokenType;
using engine::text::Vocabulary;
using Ids = std::vector<TokenId>;

namespace {

// Ids: bytes 0..255, he 256, ll 257, hell 258, hello 259, "\n\n" 260, then the special tokens.
constexpr TokenId kHello = 259, kBlankLine = 260, kStart = 261, kEnd = 262, kTool = 263;

Vocabulary smallVocabulary(const std::string& rule) {
  const std::string newline = test_support::byteLetter('\n');
  Vocabulary vocabulary = test_support::byteBpeVocabulary(
      rule, {"h e", "l l", "he ll", "hell o", newline + " " + newline});
  test_support::addToken(vocabulary, "<|start|>", TokenType::Control);
  test_support::addToken(vocabulary, "<|im_end|>", TokenType::Control);
  test_support::addToken(vocabulary, "<tool>", TokenType::UserDefined);
  return vocabulary;
}

std::unique_ptr<Tokenizer> tokenizerOf(const Vocabulary& vocabulary) {
  return std::move(createTokenizer(vocabulary)).value();
}

Ids bytesAsIds(const std::string& bytes) {
  Ids ids;
  for (const char byte : bytes) ids.push_back(static_cast<unsigned char>(byte));
  return ids;
}

}  // namespace

class TestByteBpeTokenizer : public QObject {
  Q_OBJECT

 private slots:
  void mergesStayInsideWords();
  void controlTokensMatchOnlyWhereTheTemplateWroteThem();
  void aControlTokenIsNeverMadeOfTwoWriters();
  void userDefinedTokensMatchEverywhere();
  void runsAreNoTokenBoundaries();
  void theLongestSpecialTokenWins();
  void rawTextFollowsTheMode();
  void bosIsAddedOnceAndOnlyWhenWanted();
  void llamaTakesWholeWordsBeforeMerges();
  void anUnknownRuleIsRefused();
  void invalidUtf8NamesTheByte();
  void aMissingByteIsRefusedNotDropped();
  void unusedAndControlTokensAreWrittenOnlyOnRequest();
  void longWorkBreathes();
  void anyTextComesBackByteForByte_data();
  void anyTextComesBackByteForByte();
};

void TestByteBpeTokenizer::mergesStayInsideWords() {
  const auto tokenizer = tokenizerOf(smallVocabulary("gpt-2"));
  QCOMPARE(*tokenizer->encodeRaw("hello hello", SpecialTokens::Plain), (Ids{kHello, ' ', kHello}));
  QCOMPARE(*tokenizer->encodeRaw("", SpecialTokens::Plain), Ids());
}

void TestByteBpeTokenizer::controlTokensMatchOnlyWhereTheTemplateWroteThem() {
  const auto tokenizer = tokenizerOf(smallVocabulary("gpt-2"));
  const auto ids = tokenizer->encode({{"<|start|>", Origin::Template},
                                      {"a<|im_end|>", Origin::User},
                                      {"<|im_end|>", Origin::Template}},
                                     SpecialTokens::MatchOnly);
  Ids expected = {kStart};
  for (const TokenId id : bytesAsIds("a<|im_end|>")) expected.push_back(id);
  expected.push_back(kEnd);
  QCOMPARE(*ids, expected);
}

void TestByteBpeTokenizer::aControlTokenIsNeverMadeOfTwoWriters() {
  const auto tokenizer = tokenizerOf(smallVocabulary("gpt-2"));
  const auto halves = [&](Origin first, Origin second) {
    return *tokenizer->encode({{"<|im", first}, {"_end|>", second}}, SpecialTokens::MatchOnly);
  };
  QCOMPARE(halves(Origin::Template, Origin::User), bytesAsIds("<|im_end|>"));
  QCOMPARE(halves(Origin::User, Origin::Template), bytesAsIds("<|im_end|>"));
  QCOMPARE(halves(Origin::Template, Origin::Template), Ids{kEnd});
}

void TestByteBpeTokenizer::userDefinedTokensMatchEverywhere() {
  const auto tokenizer = tokenizerOf(smallVocabulary("gpt-2"));
  QCOMPARE(*tokenizer->encode({{"<tool>", Origin::User}}, SpecialTokens::Plain), Ids{kTool});
  QCOMPARE(*tokenizer->encode({{"<to", Origin::Template}, {"ol>", Origin::User}},
                              SpecialTokens::AddAndMatch),
           Ids{kTool});
}

void TestByteBpeTokenizer::runsAreNoTokenBoundaries() {
  const auto tokenizer = tokenizerOf(smallVocabulary("qwen2"));
  QCOMPARE(*tokenizer->encode(
               {{"hel", Origin::Template}, {"lo\n", Origin::User}, {"\n", Origin::Template}},
               SpecialTokens::MatchOnly),
           (Ids{kHello, kBlankLine}));
}

void TestByteBpeTokenizer::theLongestSpecialTokenWins() {
  Vocabulary vocabulary = smallVocabulary("gpt-2");
  const TokenId longer = test_support::addToken(vocabulary, "<tool>s", TokenType::UserDefined);
  const auto tokenizer = tokenizerOf(vocabulary);
  QCOMPARE(*tokenizer->encodeRaw("<tool>s<tool>", SpecialTokens::Plain), (Ids{longer, kTool}));
}

void TestByteBpeTokenizer::rawTextFollowsTheMode() {
  const auto tokenizer = tokenizerOf(smallVocabulary("gpt-2"));
  QCOMPARE(*tokenizer->encodeRaw("<|im_end|>", SpecialTokens::AddAndMatch), Ids{kEnd});
  QCOMPARE(*tokenizer->encodeRaw("<|im_end|>", SpecialTokens::MatchOnly), Ids{kEnd});
  QCOMPARE(*tokenizer->encodeRaw("<|im_end|>", SpecialTokens::Plain), bytesAsIds("<|im_end|>"));
}

void TestByteBpeTokenizer::bosIsAddedOnceAndOnlyWhenWanted() {
  Vocabulary vocabulary = smallVocabulary("gpt-2");
  vocabulary.bos = kStart;
  vocabulary.eos = kEnd;
  const auto silent = tokenizerOf(vocabulary);
  QCOMPARE(*silent->encodeRaw("a", SpecialTokens::AddAndMatch), Ids{'a'});
  vocabulary.addBos = vocabulary.addEos = true;
  const auto adding = tokenizerOf(vocabulary);
  QCOMPARE(*adding->encodeRaw("a", SpecialTokens::AddAndMatch), (Ids{kStart, 'a', kEnd}));
  QCOMPARE(*adding->encodeRaw("<|start|>a", SpecialTokens::AddAndMatch), (Ids{kStart, 'a', kEnd}));
  QCOMPARE(*adding->encodeRaw("", SpecialTokens::AddAndMatch), (Ids{kStart, kEnd}));
  QCOMPARE(*adding->encodeRaw("a", SpecialTokens::MatchOnly), Ids{'a'});
  QCOMPARE(*adding->encodeRaw("a", SpecialTokens::Plain), Ids{'a'});
}

void TestByteBpeTokenizer::llamaTakesWholeWordsBeforeMerges() {
  for (const auto& [rule, takesWhole] : {std::pair("llama-bpe", true), std::pair("gpt-2", false)}) {
    Vocabulary vocabulary = smallVocabulary(rule);
    const TokenId whole = test_support::addToken(vocabulary, "xyz", TokenType::Normal);
    const auto tokenizer = tokenizerOf(vocabulary);
    QCOMPARE(*tokenizer->encodeRaw("xyz", SpecialTokens::Plain),
             takesWhole ? Ids{whole} : bytesAsIds("xyz"));
  }
}

void TestByteBpeTokenizer::anUnknownRuleIsRefused() {
  const auto tokenizer = createTokenizer(smallVocabulary("gpt-9"));
  QVERIFY(!tokenizer);
  QCOMPARE(tokenizer.error().code, ErrorCode::Unsupported);
  QVERIFY(tokenizer.error().message.find("gpt-9") != std::string::npos);
}

void TestByteBpeTokenizer::invalidUtf8NamesTheByte() {
  const auto tokenizer = tokenizerOf(smallVocabulary("gpt-2"));
  const auto ids =
      tokenizer->encode({{"abc", Origin::Template}, {"d\xFF", Origin::User}}, SpecialTokens::Plain);
  QVERIFY(!ids);
  QCOMPARE(ids.error().code, ErrorCode::InvalidArgument);
  QVERIFY(ids.error().message.find("byte 4") != std::string::npos);
  // Halves of one character in two runs are one character.
  QVERIFY(
      tokenizer->encode({{"\xC3", Origin::Template}, {"\xA9", Origin::User}}, SpecialTokens::Plain)
          .isOk());
}

void TestByteBpeTokenizer::aMissingByteIsRefusedNotDropped() {
  Vocabulary vocabulary = smallVocabulary("gpt-2");
  vocabulary.tokens['q'] = "another";
  const auto ids = tokenizerOf(vocabulary)->encodeRaw("aqa", SpecialTokens::Plain);
  QVERIFY(!ids);
  QVERIFY(ids.error().message.find("0x71") != std::string::npos);
}

void TestByteBpeTokenizer::unusedAndControlTokensAreWrittenOnlyOnRequest() {
  Vocabulary vocabulary = smallVocabulary("gpt-2");
  const TokenId unused = test_support::addToken(vocabulary, "[PAD7]", TokenType::Unused);
  const auto tokenizer = tokenizerOf(vocabulary);
  QCOMPARE(tokenizer->decode({'a', kEnd, unused, kTool}, false), std::string("a<tool>"));
  QCOMPARE(tokenizer->decode({'a', kEnd, unused, kTool}, true),
           std::string("a<|im_end|>[PAD7]<tool>"));
}

void TestByteBpeTokenizer::longWorkBreathes() {
  const auto tokenizer = tokenizerOf(smallVocabulary("gpt-2"));
  const std::atomic<bool> isWanted{true};
  std::string words;
  for (int i = 0; i < 1000; ++i) words += " w" + std::to_string(i);
  for (const std::string& text : {words, std::string(4000, 'l')}) {  // many words, a long one
    const auto expected = *tokenizer->encodeRaw(text, SpecialTokens::Plain);
    const engine::Pace pace(isWanted, {std::chrono::nanoseconds(0), std::chrono::nanoseconds(0)});
    QCOMPARE(*tokenizer->encodeRaw(text, SpecialTokens::Plain), expected);
    QVERIFY2(pace.numRests() > 100, qPrintable(QString::number(pace.numRests())));
  }
}

void TestByteBpeTokenizer::anyTextComesBackByteForByte_data() {
  QTest::addColumn<QString>("rule");
  for (const char* rule : {"gpt-2", "smollm", "qwen2", "llama-bpe"}) QTest::newRow(rule) << rule;
}

void TestByteBpeTokenizer::anyTextComesBackByteForByte() {
  QFETCH(QString, rule);
  const auto tokenizer = tokenizerOf(smallVocabulary(rule.toStdString()));
  std::mt19937 random(21);
  const std::u32string letters =
      U"hello \n\t1<|>tool\u00E9\u00AD\u65E5\U0001F999\u0120\0"
      U"\u200D";
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (unsigned at = 0; at < random() % 30; ++at) {
      engine::text::appendUtf8(text, letters[random() % letters.size()]);
    }
    QCOMPARE(tokenizer->decode(*tokenizer->encodeRaw(text, SpecialTokens::Plain), false), text);
  }
}

QTEST_GUILESS_MAIN(TestByteBpeTokenizer)
#include "tst_byte_bpe_tokenizer.moc"
