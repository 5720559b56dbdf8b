// The whole program offscreen: a real engine answers two chats in the window. Needs a model for that
// part (TESSERA_MODELS); bad files are refused with a sentence without one.
// labels: model
#include <QApplication>
#include <QDir>
#include <QFile>
#include <QImage>
#include <QTemporaryDir>
#include <QTest>

#include "app/window/application.h"

using app::window::Application;
using app::window::WindowOptions;

namespace {

QString modelPath() {
  const QString folder = qEnvironmentVariable("TESSERA_MODELS");
  const QString file = QDir(folder).filePath("SmolLM2-135M-Instruct.Q4_1.gguf");
  return !folder.isEmpty() && QFile::exists(file) ? file : QString();
}

int play(const WindowOptions& options) {
  Application application(*qApp, options);
  application.start();
  return QApplication::exec();
}

}  // namespace

class ScriptedChatTest : public QObject {
  Q_OBJECT

 private slots:
  void refusesWhatIsNoModel_data();
  void refusesWhatIsNoModel();
  void answersTwoChatsAndTakesPictures();
};

void ScriptedChatTest::refusesWhatIsNoModel_data() {
  QTest::addColumn<QByteArray>("content");
  QTest::newRow("missing") << QByteArray();
  QTest::newRow("empty") << QByteArray("");
  QTest::newRow("text") << QByteArray("this is no model\n").repeated(100);
  QTest::newRow("cut header") << QByteArray("GGUF\x03\0\0\0\xff\xff", 10);
}

void ScriptedChatTest::refusesWhatIsNoModel() {
  QFETCH(QByteArray, content);
  QTemporaryDir dir;
  WindowOptions options;
  options.isScripted = true;
  options.modelPath = dir.filePath("x.gguf");
  if (!content.isNull()) {
    QFile file(options.modelPath);
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(content);
  }
  QCOMPARE(play(options), 1);
}

void ScriptedChatTest::answersTwoChatsAndTakesPictures() {
  WindowOptions options;
  options.isScripted = true;
  options.modelPath = modelPath();
  if (options.modelPath.isEmpty()) QSKIP("no model: set TESSERA_MODELS to a folder with SmolLM2-135M-Instruct.Q4_1.gguf");
  QTemporaryDir dir;
  options.pictureFolder = dir.filePath("pictures");
  options.sizes = {QSize(1280, 800)};
  QCOMPARE(play(options), 0);
  const QDir pictures(options.pictureFolder);
  QCOMPARE(pictures.entryList({"*.png"}), (QStringList{"chat-1280x800-dark.png", "chat-1280x800-light.png",
                                                       "teach-1280x800-dark.png", "teach-1280x800-light.png",
                                                       "tune-1280x800-dark.png", "tune-1280x800-light.png"}));
  for (const QString& name : pictures.entryList({"*.png"})) {
    const QImage image(pictures.filePath(name));
    QCOMPARE(image.size(), QSize(1280, 800));
    const bool isDark = image.pixelColor(640, 790).lightnessF() < 0.5;
    QCOMPARE(isDark, name.contains("dark"));
  }
}

QTEST_MAIN(ScriptedChatTest)
#include "tst_scripted_chat.moc"
