// Which vocabularies speak of the same tokens.
#include <QtTest>

#include "engine/text/vocabulary_match.h"
#include "tests/support/small_vocabulary.h"

using namespace engine;
using namespace engine::text;
using namespace test_support;

class TestVocabularyMatch : public QObject {
  Q_OBJECT

 private slots:

  void equalTokensAreTheSameWhateverElseDiffers() {
    const Vocabulary one = byteBpeVocabulary("gpt-2", {"h e"});
    Vocabulary other = one;
    other.chatTemplate = "{{ x }}";
    other.scores = {1.0f};
    QVERIFY(checkSameTokens(one, other).isOk());
  }

  void anotherTokenOfTheSameSizeIsNamed() {
    const Vocabulary one = byteBpeVocabulary("gpt-2", {"h e", "a b"});
    const Vocabulary other = byteBpeVocabulary("gpt-2", {"h e", "a c"});
    QCOMPARE(one.tokens.size(), other.tokens.size());
    const Result<void> same = checkSameTokens(one, other);
    QVERIFY(!same.isOk());
    QVERIFY(same.error().code == ErrorCode::Unsupported);
    QVERIFY2(same.error().message.find("token 257 is \"ac\" there and \"ab\" in the model") !=
                 std::string::npos,
             same.error().message.c_str());
  }

  void onlyUnusedTokensMayBeMore() {
    const Vocabulary one = byteBpeVocabulary("gpt-2", {"h e"});
    Vocabulary padded = one;
    addToken(padded, "[PAD0]", TokenType::Unused);
    QVERIFY(checkSameTokens(one, padded).isOk());
    QVERIFY(checkSameTokens(padded, one).isOk());
    addToken(padded, "more", TokenType::Normal);
    QVERIFY(!checkSameTokens(one, padded).isOk());
    QVERIFY(!checkSameTokens(padded, one).isOk());
  }

  void strangeBytesDoNotReachTheMessage() {
    Vocabulary one = byteBpeVocabulary("gpt-2", {}), other = one;
    addToken(one, "a", TokenType::Normal);
    addToken(other, std::string("\x1b[31m") + std::string(500, 'x'), TokenType::Normal);
    const std::string message = checkSameTokens(one, other).error().message;
    QVERIFY(message.find('\x1b') == std::string::npos && message.size() < 200);
  }
};

QTEST_GUILESS_MAIN(TestVocabularyMatch)
#include "tst_vocabulary_match.moc"
