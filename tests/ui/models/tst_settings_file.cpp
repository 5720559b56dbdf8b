// The settings file: kept, tolerated when damaged, and every value checked.
#include "ui/models/settings_file.h"

#include <QDir>
#include <QFile>
#include <QRandomGenerator>
#include <QTemporaryDir>
#include <QTest>

#include "ui/models/preferences.h"

using namespace ui::models;

class SettingsFileTest : public QObject {
  Q_OBJECT

 private slots:
  void preferencesComeBack();
  void aDamagedFileIsSetAsideAndSaid_data();
  void aDamagedFileIsSetAsideAndSaid();
  void anOrdinaryFileIsLeftAlone();
  void valuesThatCannotBeAreNamedAndIgnored();
};

void SettingsFileTest::preferencesComeBack() {
  QTemporaryDir dir;
  const QString path = dir.filePath("new/folder/tessera.ini");
  Preferences wanted;
  wanted.theme = ui::style::ThemeMode::Dark;
  wanted.textSize = 16;
  wanted.systemPrompt = QString::fromUtf8("Be brief;\n\"quoted\", with = and ; and ünïcode 日本 \\n");
  wanted.chat.sampling.temperature = 0.25f;
  wanted.chat.sampling.topK = 40;
  wanted.engine.load.threads = 3;
  wanted.engine.load.kvMemoryBytes = 512'000'000;
  wanted.engine.load.blockSize = 32;
  wanted.engine.limits.maxSeqs = 7;
  wanted.engine.limits.prefixCache = false;
  {
    OpenedSettings opened = openSettings(path);
    QVERIFY2(opened.sentence.isEmpty(), qPrintable(opened.sentence));
    writePreferences(*opened.settings, wanted);
  }
  OpenedSettings again = openSettings(path);
  QStringList complaints;
  QVERIFY2(again.sentence.isEmpty(), qPrintable(again.sentence));
  QCOMPARE(readPreferences(*again.settings, complaints), wanted);
  QVERIFY(complaints.isEmpty());
}

void SettingsFileTest::aDamagedFileIsSetAsideAndSaid_data() {
  QTest::addColumn<QByteArray>("bytes");
  QByteArray noise(4096, '\0');
  QRandomGenerator(7).generate(noise.begin(), noise.end());
  QTest::newRow("noise") << noise;
  QTest::newRow("zeros, as after a power cut") << QByteArray(512, '\0');
  QTest::newRow("a sentence") << QByteArray("this is not a settings file\n");
  QTest::newRow("cut inside a line") << QByteArray("[window]\ntheme=2\ntext_si");
  QTest::newRow("not UTF-8") << QByteArray("[window]\ntheme=\xff\xfe\xfa\n");
  QTest::newRow("two megabytes") << QByteArray("[window]\n") + QByteArray("a=1\n").repeated(500'000);
}

void SettingsFileTest::aDamagedFileIsSetAsideAndSaid() {
  QFETCH(QByteArray, bytes);
  QTemporaryDir dir;
  const QString path = dir.filePath("tessera.ini");
  QFile file(path);
  QVERIFY(file.open(QIODevice::WriteOnly));
  file.write(bytes);
  file.close();
  OpenedSettings opened = openSettings(path);
  QVERIFY2(opened.sentence.contains("could not be read"), qPrintable(opened.sentence));
  QStringList complaints;
  QCOMPARE(readPreferences(*opened.settings, complaints), Preferences());
  const QStringList aside = QDir(dir.path()).entryList({"tessera.ini.damaged-*"});
  QCOMPARE(aside.size(), 1);
  QFile kept(dir.filePath(aside.front()));
  QVERIFY(kept.open(QIODevice::ReadOnly));
  QCOMPARE(kept.readAll(), bytes);
  Preferences changed;
  changed.textSize = 15;
  writePreferences(*opened.settings, changed);
  OpenedSettings again = openSettings(path);
  QVERIFY(again.sentence.isEmpty());
  QCOMPARE(readPreferences(*again.settings, complaints).textSize, 15);
}

void SettingsFileTest::anOrdinaryFileIsLeftAlone() {
  QTemporaryDir dir;
  const QString path = dir.filePath("tessera.ini");
  QFile file(path);
  QVERIFY(file.open(QIODevice::WriteOnly));
  file.write("; a comment\n[window]\n theme=2\nunknown_key=@ByteArray(\\x1\\xff)\n\n[future]\nlist=a, b\n");
  file.close();
  OpenedSettings opened = openSettings(path);
  QVERIFY2(opened.sentence.isEmpty(), qPrintable(opened.sentence));
  QCOMPARE(opened.settings->value("window/theme").toInt(), 2);
}

void SettingsFileTest::valuesThatCannotBeAreNamedAndIgnored() {
  QTemporaryDir dir;
  QSettings settings(dir.filePath("t.ini"), QSettings::IniFormat);
  settings.setValue("window/theme", "purple");
  settings.setValue("window/text_size", 400);
  settings.setValue("engine/threads", -3);
  settings.setValue("engine/block_size", 17);
  settings.setValue("chat/settings", R"({"temperature": 99})");
  QStringList complaints;
  QCOMPARE(readPreferences(settings, complaints), Preferences());
  const QString all = complaints.join('\n');
  for (const char* part : {"window/theme is \"purple\"", "0 to 2", "window/text_size is \"400\"", "11 to 18",
                           "engine/threads is \"-3\"", "17", "99"}) {
    QVERIFY2(all.contains(part), qPrintable(QString("%1 is not in:\n%2").arg(part, all)));
  }
}

QTEST_GUILESS_MAIN(SettingsFileTest)
#include "tst_settings_file.moc"
