// What files handed to the window are: decided by content, for one or several.
#include "app/window/file_opening.h"

#include <QDir>
#include <QFile>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

#include "engine/trace/trace_file.h"

using app::window::decideOn;
using app::window::FileDecision;
using app::window::FileOpening;

class FileOpeningTest : public QObject {
  Q_OBJECT

 private slots:
  void aTraceIsKnownByItsContentNotItsName();
  void partsOfOneModelAreOneModel();
  void severalFilesAreRefusedInOneSentence();
  void whatIsNoFileIsRefused();
  void aRelativePathBecomesAbsolute();

 private:
  QString write(const QTemporaryDir& dir, const QString& name, const QByteArray& bytes = "GGUF") {
    QFile file(dir.filePath(name));
    if (!file.open(QIODevice::WriteOnly)) qFatal("cannot write");
    file.write(bytes);
    return file.fileName();
  }
};

void FileOpeningTest::aTraceIsKnownByItsContentNotItsName() {
  QTemporaryDir dir;
  const QByteArray signature(engine::trace::kTraceSignature.data(), qsizetype(engine::trace::kTraceSignature.size()));
  const QString trace = write(dir, "looks-like-a-model.gguf", signature + "more");
  const QString model = write(dir, "looks-like-a-run.trace");
  FileOpening opening;
  QSignalSpy models(&opening, &FileOpening::modelChosen), traces(&opening, &FileOpening::traceChosen);
  opening.open({trace});
  opening.open({model});
  QCOMPARE(traces.size(), 1);
  QCOMPARE(traces[0][0].toString(), trace);
  QCOMPARE(models.size(), 1);
  QCOMPARE(models[0][0].toString(), model);
}

void FileOpeningTest::partsOfOneModelAreOneModel() {
  QTemporaryDir dir;
  const QString second = write(dir, "m-00002-of-00003.gguf"), first = write(dir, "m-00001-of-00003.gguf"),
                third = write(dir, "m-00003-of-00003.gguf");
  const FileDecision all = decideOn({third, second, first, second});
  QCOMPARE(all.kind, FileDecision::Kind::Model);
  QCOMPARE(all.path, first);
  QCOMPARE(decideOn({second}).path, second);  // the engine finds the others
  const QString other = write(dir, "n-00001-of-00003.gguf");
  QCOMPARE(decideOn({first, other}).kind, FileDecision::Kind::Nothing);
}

void FileOpeningTest::severalFilesAreRefusedInOneSentence() {
  QTemporaryDir dir;
  const FileDecision two = decideOn({write(dir, "a.gguf"), write(dir, "b.gguf")});
  QCOMPARE(two.kind, FileDecision::Kind::Nothing);
  QVERIFY2(two.sentence.startsWith("2 files came together"), qPrintable(two.sentence));
}

void FileOpeningTest::whatIsNoFileIsRefused() {
  QTemporaryDir dir;
  QVERIFY(decideOn({dir.filePath("missing.gguf")}).sentence.startsWith("There is no file " + dir.path()));
  QVERIFY(decideOn({dir.path()}).sentence.contains("is a folder"));
  QVERIFY(decideOn({"/dev/null"}).sentence.contains("no ordinary file"));
  QVERIFY(!decideOn({}).sentence.isEmpty());
  FileOpening opening;
  QSignalSpy refused(&opening, &FileOpening::refused);
  opening.open({"/no/such/file"});
  QCOMPARE(refused.size(), 1);
}

void FileOpeningTest::aRelativePathBecomesAbsolute() {
  QTemporaryDir dir;
  const QString file = write(dir, "m.gguf");
  const QString before = QDir::currentPath();
  QDir::setCurrent(dir.path());
  QCOMPARE(QFileInfo(decideOn({"m.gguf"}).path).canonicalFilePath(), QFileInfo(file).canonicalFilePath());
  QVERIFY(QFileInfo(decideOn({"m.gguf"}).path).isAbsolute());
  QDir::setCurrent(before);
}

QTEST_GUILESS_MAIN(FileOpeningTest)
#include "tst_file_opening.moc"
