#include <QtTest/QtTest>

#include <random>

#include "engine/text/utf8.h"

using namespace engine::text;

class TestUtf8 : public QObject {
  Q_OBJECT

 private slots:
  void theFirstInvalidByteIsFound_data();
  void theFirstInvalidByteIsFound();
  void everyCodePointIsValidAndComesBack();
  void brokenUnitsBecomeOneReplacementEach();
  void anyBytesAreValidOnceRepaired();
};

void TestUtf8::theFirstInvalidByteIsFound_data() {
  QTest::addColumn<QByteArray>("bytes");
  QTest::addColumn<int>("offset");  // -1 = valid
  QTest::newRow("empty") << QByteArray() << -1;
  QTest::newRow("ascii with a zero byte") << QByteArray("a\0b", 3) << -1;
  QTest::newRow("two, three, four bytes")
      << QByteArray("\xC3\xA9\xE6\x97\xA5\xF0\x9F\xA6\x99") << -1;
  QTest::newRow("bare continuation") << QByteArray("ab\x80") << 2;
  QTest::newRow("overlong slash") << QByteArray("\xC0\xAF") << 0;
  QTest::newRow("overlong three") << QByteArray("a\xE0\x9F\xBF") << 1;
  QTest::newRow("overlong four") << QByteArray("\xF0\x8F\xBF\xBF") << 0;
  QTest::newRow("surrogate") << QByteArray("abc\xED\xA0\x80") << 3;
  QTest::newRow("last before surrogates") << QByteArray("\xED\x9F\xBF") << -1;
  QTest::newRow("above U+10FFFF") << QByteArray("\xF4\x90\x80\x80") << 0;
  QTest::newRow("U+10FFFF") << QByteArray("\xF4\x8F\xBF\xBF") << -1;
  QTest::newRow("0xFF") << QByteArray("\xFF") << 0;
  QTest::newRow("cut short") << QByteArray("x\xF0\x9F\xA6") << 1;
}

void TestUtf8::theFirstInvalidByteIsFound() {
  QFETCH(QByteArray, bytes);
  QFETCH(int, offset);
  const auto found = findInvalidUtf8(bytes.toStdString());
  QCOMPARE(found ? static_cast<int>(*found) : -1, offset);
}

void TestUtf8::everyCodePointIsValidAndComesBack() {
  for (char32_t point = 0; point <= 0x10FFFF; ++point) {
    if (point >= 0xD800 && point < 0xE000) continue;
    std::string character;
    appendUtf8(character, point);
    const Utf8Unit unit = firstUtf8Unit(character);
    if (unit.kind != Utf8Kind::Whole || unit.length != character.size() ||
        codePointOf(character) != point) {
      QFAIL(qPrintable(QString("U+%1").arg(static_cast<uint>(point), 0, 16)));
    }
  }
}

void TestUtf8::brokenUnitsBecomeOneReplacementEach() {
  const std::string mark(kReplacementCharacter);
  QCOMPARE(repairUtf8("a\xFF\xFE z"), "a" + mark + mark + " z");
  QCOMPARE(repairUtf8("\xF0\x9F\xA6"), mark);           // one unfinished character
  QCOMPARE(repairUtf8("\xF0\x9F\xA6 x"), mark + " x");  // the same, cut by a letter
  QCOMPARE(repairUtf8("\xE0\x80"), mark + mark);        // an overlong beginning is two units
}

void TestUtf8::anyBytesAreValidOnceRepaired() {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes;
    for (int at = 0; at < 24; ++at) bytes.push_back(static_cast<char>(random() & 0xFF));
    const std::string repaired = repairUtf8(bytes);
    QVERIFY(!findInvalidUtf8(repaired));
    QCOMPARE(repairUtf8(repaired), repaired);
  }
}

QTEST_GUILESS_MAIN(TestUtf8)
#include "tst_utf8.moc"
