// The whole window offscreen, with a scripted engine behind it.
#include "ui/main_window.h"

#include <QApplication>
#include <QDir>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QTest>

#include "tests/support/demo_texts.h"
#include "tests/support/fake_engine_handle.h"
#include "ui/panels/chat_list_panel.h"
#include "ui/panels/chat_panel.h"
#include "ui/panels/composer.h"
#include "ui/style/english_plurals.h"
#include "ui/views/transcript_view.h"

using ui::MainWindow;
using ui::panels::Perspective;

namespace {

struct Stage {
  explicit Stage(const QString& dir)
      : settings(dir + "/tessera.ini", QSettings::IniFormat), store(dir + "/chats.sqlite"), theme(*qApp),
        window(ui::WindowParts{fake, store, settings, theme}) {}

  void play(int steps) {
    for (int i = 0; i < steps && (fake.isBusy() || i == 0); ++i) {
      fake.advance(1);
      window.engineBridge().pull();
      QApplication::processEvents();
    }
  }

  tests::FakeEngineHandle fake;
  QSettings settings;
  ui::models::ChatStore store;
  ui::style::Theme theme;
  MainWindow window;
};

}  // namespace

class MainWindowTest : public QObject {
  Q_OBJECT

 private slots:
  void pictures();
};

void MainWindowTest::pictures() {
  QTemporaryDir dir;
  Stage stage(dir.path());
  stage.fake.replyTo = [](const engine::RequestSpec&) { return tests::FakeReply{tests::piecesOf(tests::kSkyAnswer), {}, {}}; };
  stage.fake.loadAtOnce("/models/SmolLM2-135M.Q4_1.gguf");
  stage.window.start({});
  stage.window.show();
  auto& panel = stage.window.chatPanel();
  panel.composer().setText("Refactor the parser");
  panel.send();
  stage.window.chatList().newChat();
  panel.composer().setText("Why is the sky blue? Answer in two short sentences, then show a tiny Python demo.");
  panel.send();
  stage.play(70);
  panel.composer().setText("a draft that is being typed");
  const QString out = qEnvironmentVariable("TESSERA_PICTURES");
  for (auto perspective : {Perspective::Chat, Perspective::Teach}) {
    stage.window.setPerspective(perspective);
    for (auto mode : {ui::style::ThemeMode::Light, ui::style::ThemeMode::Dark}) {
      stage.theme.setMode(mode);
      for (QSize size : {QSize(1280, 800), QSize(1920, 1080)}) {
        stage.window.resize(size);
        QTest::qWait(300);
        const QImage image = stage.window.grab().toImage();
        QCOMPARE(image.size(), size);
        if (!out.isEmpty()) {
          QDir().mkpath(out);
          image.save(QString("%1/%2-%3x%4-%5.png").arg(out, perspective == Perspective::Chat ? "chat" : "teach")
                         .arg(size.width()).arg(size.height())
                         .arg(mode == ui::style::ThemeMode::Light ? "light" : "dark"));
        }
      }
    }
  }
}

int main(int argc, char** argv) {
  QApplication app(argc, argv);
  ui::style::EnglishPlurals plurals;
  QApplication::installTranslator(&plurals);
  MainWindowTest test;
  return QTest::qExec(&test, argc, argv);
}

#include "tst_main_window.moc"
