// Pictures of everything: each there, light and dark, and none of them empty.
#include "app/window/picture_tour.h"

#include <QApplication>
#include <QDir>
#include <QImage>
#include <QTemporaryDir>
#include <QTest>

#include "app/window/recordings.h"
#include "app/window/traffic_plan.h"
#include "tests/support/fake_engine_handle.h"
#include "ui/panels/chat_panel.h"
#include "ui/panels/composer.h"

class PictureTourTest : public QObject {
  Q_OBJECT

 private slots:
  void everyViewIsPictured();
  void aFolderThatIsGoneIsTold();
};

namespace {

struct Stage {
  explicit Stage(const QString& dir)
      : settings(dir + "/tessera.ini", QSettings::IniFormat), store(dir + "/chats.sqlite"), theme(*qApp),
        window(ui::WindowParts{fake, store, settings, theme, app::window::drawTraffic, app::window::openRecording}) {
    fake.loadAtOnce("/models/m.gguf");
    window.start({});
    window.show();
    window.chatPanel().composer().setText("hello");
    window.chatPanel().send();
    for (int i = 0; i < 40 && fake.isBusy(); ++i) {
      fake.advance(1);
      window.engineBridge().pull();
      QApplication::processEvents();
    }
  }

  tests::FakeEngineHandle fake;
  QSettings settings;
  ui::models::ChatStore store;
  ui::style::Theme theme;
  ui::MainWindow window;
};

}  // namespace

void PictureTourTest::everyViewIsPictured() {
  QTemporaryDir dir, pictures;
  Stage stage(dir.path());
  app::window::PictureTour tour(stage.window, stage.theme, pictures.path(), 0.1);
  tour.takeViews();
  tour.takeRest();
  QCOMPARE(tour.failure(), QString());
  const QDir folder(pictures.path());
  for (const char* name : {"teach-requests", "teach-traffic", "tune-requests", "tune-blocks", "teach-tables", "tune-tables", "open-model",
                           "settings-1", "settings-3", "chat-settings", "log", "about-1", "about-3", "large-text-chat", "large-text-teach",
                           "large-text-tune", "chat-900x600", "teach-900x600", "tune-900x600", "replay-chat", "replay-teach", "replay-tune",
                           "no-model-chat", "no-model-teach", "no-model-tune", "failed-load"}) {
    QImage shades[2];
    for (int dark : {0, 1}) {
      shades[dark] = QImage(folder.filePath(QString("%1-%2.png").arg(name, dark ? "dark" : "light")));
      QVERIFY2(shades[dark].width() > 300 && shades[dark].height() > 200, name);
    }
    QVERIFY2(shades[0].pixelColor(3, 3).lightnessF() > 0.5 && shades[1].pixelColor(3, 3).lightnessF() < 0.5, name);
  }
}

void PictureTourTest::aFolderThatIsGoneIsTold() {
  QTemporaryDir dir;
  Stage stage(dir.path());
  app::window::PictureTour tour(stage.window, stage.theme, dir.filePath("gone"), 0.1);
  tour.takePerspectives({1280, 800});
  QVERIFY2(tour.failure().contains("gone/chat-1280x800-light.png"), qPrintable(tour.failure()));
}

QTEST_MAIN(PictureTourTest)
#include "tst_picture_tour.moc"
