// What a program may write over, and what it must leave alone.
// labels: pure
#include <QTemporaryDir>
#include <QtTest>

#include "engine/base/overwrite.h"

using namespace engine;

class TestOverwrite : public QObject {
  Q_OBJECT

 private:
  std::string make(const char* name, const QByteArray& content) {
    QFile file(m_folder.filePath(QString::fromLatin1(name)));
    if (!file.open(QIODevice::WriteOnly)) qFatal("no temporary file");
    file.write(content);
    return file.fileName().toStdString();
  }

  QTemporaryDir m_folder;

 private slots:

  void whatIsNotThereOrOfTheSameKindMayBeWrittenOver() {
    QVERIFY(checkOverwrite(m_folder.filePath("nothing").toStdString(), "SIGN", "a sign").isOk());
    QVERIFY(checkOverwrite(make("empty", ""), "SIGN", "a sign").isOk());
    QVERIFY(checkOverwrite(make("same", "SIGN and more"), "SIGN", "a sign").isOk());
    QVERIFY(checkOverwrite("/dev/null", "SIGN", "a sign").isOk());
  }

  void anythingElseIsNamedAndKept() {
    for (const QByteArray& content : {QByteArray("GGUF"), QByteArray("SIG"), QByteArray("xSIGN")}) {
      const std::string path = make("other", content);
      const auto checked = checkOverwrite(path, "SIGN", "a sign");
      QVERIFY(!checked.isOk());
      QCOMPARE(checked.error().code, ErrorCode::InvalidArgument);
      QCOMPARE(checked.error().message, path + " is a file that is not a sign; it would be lost");
    }
    const std::string link = m_folder.filePath("link").toStdString();
    QVERIFY(QFile::link(m_folder.filePath("other"), QString::fromStdString(link)));
    QVERIFY(!checkOverwrite(link, "SIGN", "a sign").isOk());
  }
};

QTEST_GUILESS_MAIN(TestOverwrite)
#include "tst_overwrite.moc"
