#include <QtTest/QtTest>

#include "engine/model/safe_text.h"

using engine::ErrorCode;
using engine::model::fileError;
using engine::model::safeText;
using engine::model::validUtf8;

class TestSafeText : public QObject {
  Q_OBJECT

 private slots:

  void goodTextStaysAsItIs() {
    const std::string text = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80";
    QCOMPARE(safeText(text), text);
    QCOMPARE(validUtf8(text), text);
  }

  void illFormedBytesAreReplacedOneByOne_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<int>("replaced");
    QTest::newRow("lone continuation") << QByteArray("\x80") << 1;
    QTest::newRow("overlong slash") << QByteArray("\xC0\xAF") << 2;
    QTest::newRow("overlong three") << QByteArray("\xE0\x80\xAF") << 3;
    QTest::newRow("surrogate") << QByteArray("\xED\xA0\x80") << 3;
    QTest::newRow("past the last") << QByteArray("\xF4\x90\x80\x80") << 4;
    QTest::newRow("cut short") << QByteArray("\xE2\x82") << 2;
    QTest::newRow("never a lead") << QByteArray("\xFF") << 1;
  }

  void illFormedBytesAreReplacedOneByOne() {
    QFETCH(QByteArray, bytes);
    QFETCH(int, replaced);
    std::string expected;
    for (int i = 0; i < replaced; ++i) expected += "\xEF\xBF\xBD";
    QCOMPARE(safeText(bytes.toStdString()), expected);
    QCOMPARE(validUtf8(bytes.toStdString()), expected);
  }

  void whatBreaksALineBecomesASpace() {
    QCOMPARE(safeText("a\nb\r\x1b\x7f\xC2\x85\xE2\x80\xA8z"), std::string("a b     z"));
    QCOMPARE(validUtf8("a\nb"), std::string("a\nb"));
  }

  void longTextEndsAtAWholeCharacter() {
    QCOMPARE(safeText("abcdef", 4), std::string("abcd\xE2\x80\xA6"));
    QCOMPARE(safeText("abc\xC3\xA9", 4), std::string("abc\xE2\x80\xA6"));
    QCOMPARE(safeText("abcd", 4), std::string("abcd"));
  }

  void anErrorNamesTheFileAndStaysShort() {
    const auto error = fileError(ErrorCode::CorruptFile, "dir/m.gguf", "is broken");
    QCOMPARE(error.message, std::string("dir/m.gguf: is broken"));
    const auto longer = fileError(ErrorCode::CorruptFile, std::string(400, 'p') + "/model.gguf",
                                  std::string(400, 'w'));
    QVERIFY(longer.message.size() <= 300);
    QVERIFY(longer.message.find("/model.gguf: www") != std::string::npos);
    const auto broken = fileError(ErrorCode::CorruptFile, std::string(400, '\xff'), "is broken");
    QVERIFY2(broken.message.size() <= 300, broken.message.c_str());
    QVERIFY(broken.message.ends_with("is broken"));
    const auto shorter = fileError(ErrorCode::CorruptFile, std::string(100, '\xff'), "is broken");
    QVERIFY2(shorter.message.size() <= 300, shorter.message.c_str());
  }
};

QTEST_GUILESS_MAIN(TestSafeText)
#include "tst_safe_text.moc"
