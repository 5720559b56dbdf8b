#include <QtTest/QtTest>

#include <random>

#include "engine/text/stream_decoder.h"
#include "engine/text/utf8.h"
#include "tests/support/small_vocabulary.h"

using engine::TokenId;
using engine::text::createTokenizer;
using engine::text::StreamDecoder;
using engine::text::TokenType;
using engine::text::Vocabulary;

namespace {

const std::string kMark(engine::text::kReplacementCharacter);

std::vector<TokenId> idsOfBytes(const std::string& bytes) {
  std::vector<TokenId> ids;
  for (const char byte : bytes) ids.push_back(static_cast<unsigned char>(byte));
  return ids;
}

}  // namespace

class TestStreamDecoder : public QObject {
  Q_OBJECT

 private slots:
  void init();
  void aCharacterInPiecesArrivesWhole();
  void flushMarksAnUnfinishedCharacter();
  void brokenBytesAreMarkedAsSoonAsTheyAreBroken();
  void controlTokensAreSilentUnlessAsked();
  void idsOutsideTheVocabularyAreSilent();
  void deltasJoinToTheRepairedWhole();

 private:
  std::unique_ptr<engine::text::Tokenizer> m_tokenizer;
  TokenId m_control = -1;
};

void TestStreamDecoder::init() {
  Vocabulary vocabulary = test_support::byteBpeVocabulary("gpt-2", {});
  m_control = test_support::addToken(vocabulary, "<|im_end|>", TokenType::Control);
  m_tokenizer = std::move(createTokenizer(vocabulary)).value();
}

void TestStreamDecoder::aCharacterInPiecesArrivesWhole() {
  StreamDecoder decoder(*m_tokenizer);
  std::vector<std::string> deltas;
  for (const TokenId id : idsOfBytes("a\xF0\x9F\xA6\x99\xC3\xA9"))
    deltas.push_back(decoder.feed(id));
  QCOMPARE(deltas, (std::vector<std::string>{"a", "", "", "", "\U0001F999", "", "\u00E9"}));
  QCOMPARE(decoder.flush(), std::string());
}

void TestStreamDecoder::flushMarksAnUnfinishedCharacter() {
  StreamDecoder decoder(*m_tokenizer);
  for (const TokenId id : idsOfBytes("\xF0\x9F\xA6")) QCOMPARE(decoder.feed(id), std::string());
  QCOMPARE(decoder.flush(), kMark);
  QCOMPARE(decoder.flush(), std::string());
}

void TestStreamDecoder::brokenBytesAreMarkedAsSoonAsTheyAreBroken() {
  StreamDecoder decoder(*m_tokenizer);
  QCOMPARE(decoder.feed(0xFF), kMark);
  QCOMPARE(decoder.feed(0xE6), std::string());
  QCOMPARE(decoder.feed('z'), kMark + "z");
}

void TestStreamDecoder::controlTokensAreSilentUnlessAsked() {
  StreamDecoder silent(*m_tokenizer);
  QCOMPARE(silent.feed(m_control), std::string());
  StreamDecoder spoken(*m_tokenizer, true);
  QCOMPARE(spoken.feed(m_control), std::string("<|im_end|>"));
}

void TestStreamDecoder::idsOutsideTheVocabularyAreSilent() {
  StreamDecoder decoder(*m_tokenizer);
  QCOMPARE(decoder.feed(-1), std::string());
  QCOMPARE(decoder.feed(1'000'000), std::string());
}

void TestStreamDecoder::deltasJoinToTheRepairedWhole() {
  std::mt19937 random(9);
  for (int round = 0; round < 1000; ++round) {
    std::string bytes;
    for (int at = 0; at < 30; ++at) {
      if (random() % 2) engine::text::appendUtf8(bytes, U"\u00E9\u65E5\U0001F999z"[random() % 4]);
      if (random() % 4 == 0) bytes.push_back(static_cast<char>(random() & 0xFF));
    }
    StreamDecoder decoder(*m_tokenizer);
    std::string joined;
    for (const TokenId id : idsOfBytes(bytes)) {
      const std::string delta = decoder.feed(id);
      QVERIFY(!engine::text::findInvalidUtf8(delta));
      joined += delta;
    }
    QCOMPARE(joined + decoder.flush(), engine::text::repairUtf8(bytes));
  }
}

QTEST_GUILESS_MAIN(TestStreamDecoder)
#include "tst_stream_decoder.moc"
