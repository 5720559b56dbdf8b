// The window's command line: what is taken, and what exits with which code.
#include "app/window/window_options.h"

#include <QTest>

using app::window::parseWindowOptions;

namespace {

app::window::ParsedOptions parse(std::vector<std::string> words) {
  words.insert(words.begin(), "tessera");
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  return parseWindowOptions(int(argv.size()), argv.data());
}

}  // namespace

class WindowOptionsTest : public QObject {
  Q_OBJECT

 private slots:
  void takesAModelAndAScript();
  void wrongUseExitsWithTwo_data();
  void wrongUseExitsWithTwo();
  void helpAndVersionExitWithZero();
};

void WindowOptionsTest::takesAModelAndAScript() {
  const auto plain = parse({});
  QVERIFY(plain.options && plain.options->modelPath.isEmpty() && !plain.options->isScripted);
  const auto all = parse({"--script-chat", "--pictures", "out", "--size", "800x600", "--offscreen", "m.gguf"});
  QVERIFY(all.options.has_value());
  QCOMPARE(all.options->modelPath, QString("m.gguf"));
  QCOMPARE(all.options->pictureFolder, QString("out"));
  QVERIFY(all.options->isScripted && all.options->isOffscreen);
  QCOMPARE(all.options->sizes.size(), 1u);
  QCOMPARE(all.options->sizes[0], QSize(800, 600));
}

void WindowOptionsTest::wrongUseExitsWithTwo_data() {
  QTest::addColumn<QStringList>("words");
  QTest::newRow("unknown flag") << QStringList{"--bogus"};
  QTest::newRow("two models") << QStringList{"a", "b"};
  for (const char* size : {"12x3", "axb", "800", "800x600x1", "99999x600", "-800x600", ""}) {
    QTest::newRow(qPrintable(QString("size '%1'").arg(size))) << QStringList{"--size=" + QString(size)};
  }
  QTest::newRow("pictures without folder") << QStringList{"--pictures"};
  QTest::newRow("pictures without a script") << QStringList{"--pictures", "out"};
  QTest::newRow("views without pictures") << QStringList{"--script-chat", "--every-view"};
}

void WindowOptionsTest::wrongUseExitsWithTwo() {
  QFETCH(QStringList, words);
  std::vector<std::string> arguments;
  for (const QString& word : words) arguments.push_back(word.toStdString());
  const auto parsed = parse(arguments);
  QVERIFY(!parsed.options.has_value());
  QCOMPARE(parsed.exitCode, 2);
  QVERIFY(!parsed.text.empty());
}

void WindowOptionsTest::helpAndVersionExitWithZero() {
  for (const char* flag : {"--help", "--version"}) {
    const auto parsed = parse({flag});
    QVERIFY(!parsed.options.has_value());
    QCOMPARE(parsed.exitCode, 0);
    QVERIFY(!parsed.text.empty());
  }
}

QTEST_GUILESS_MAIN(WindowOptionsTest)
#include "tst_window_options.moc"
