// Pictures of the program's own pages, to be looked at; TESSERA_PICTURES names the folder.
#include <QDir>
#include <QSignalSpy>
#include <QTabWidget>
#include <QTemporaryDir>
#include <QTest>

#include "tests/ui/window_stage.h"
#include "ui/panels/about_dialog.h"
#include "ui/panels/log_window.h"
#include "ui/panels/settings_dialog.h"
#include "ui/program_desk.h"
#include "ui/style/english_plurals.h"

using test_support::shown;
using test_support::Stage;

class ProgramPicturesTest : public QObject {
  Q_OBJECT

 private slots:
  void pictures();
};

void ProgramPicturesTest::pictures() {
  const QString out = qEnvironmentVariable("TESSERA_PICTURES");
  if (out.isEmpty()) QSKIP("TESSERA_PICTURES names no folder");
  QDir().mkpath(out);
  const auto grab = [&out](QWidget& widget, const QString& name) {
    QTest::qWait(150);
    widget.grab().save(QString("%1/%2.png").arg(out, name));
  };
  QTemporaryDir dir;
  Stage stage(dir.path());
  stage.fake.loadSteps = 20;
  stage.fake.replyTo = [](const engine::RequestSpec&) {
    return tests::FakeReply{tests::piecesOf("<think>\nThe user wants the weather.\nI should call a tool.\n</think>\n\nI look it up.\n"
                                            "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"town\": \"Oslo\", \"days\": 3}}\n"
                                            "</tool_call>\n"), {}, {}};
  };
  stage.start(false);
  for (auto [mode, name] : {std::pair(ui::style::ThemeMode::Light, "light"), std::pair(ui::style::ThemeMode::Dark, "dark")}) {
    stage.theme.setMode(mode);
    for (QSize size : {QSize(1280, 800), QSize(1920, 1080)}) {
      stage.window.resize(size);
      grab(stage.window, QString("first-run-%1x%2-%3").arg(size.width()).arg(size.height()).arg(name));
    }
  }
  stage.window.openModel("/models/SmolLM2-135M.Q4_1.gguf");
  stage.play(1);
  stage.play(9);
  stage.window.resize(1280, 800);
  grab(stage.window, "loading");
  stage.play(40);
  stage.say("How is the weather in Oslo?");
  stage.play(60);
  for (auto [mode, name] : {std::pair(ui::style::ThemeMode::Light, "light"), std::pair(ui::style::ThemeMode::Dark, "dark")}) {
    stage.theme.setMode(mode);
    grab(stage.window, QString("tool-call-%1").arg(name));
    stage.window.desk().showSettings();
    auto* settings = shown<ui::panels::SettingsDialog>(stage.window);
    for (int tab = 0; tab < 3; ++tab) {
      settings->tabs().setCurrentIndex(tab);
      grab(*settings, QString("settings-%1-%2").arg(tab).arg(name));
    }
    settings->reject();
    QApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    stage.theme.setMode(mode);
    stage.window.desk().showLog();
    grab(*shown<ui::panels::LogWindow>(stage.window), QString("log-%1").arg(name));
    stage.window.desk().showAbout();
    auto* about = shown<ui::panels::AboutDialog>(stage.window);
    about->tabs().setCurrentIndex(1);
    grab(*about, QString("about-%1").arg(name));
    about->reject();
    QApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
  }
  stage.theme.setMode(ui::style::ThemeMode::Light);
  stage.theme.setTextSize(18);
  grab(stage.window, "text-18");
  stage.theme.setTextSize(13);
}

int main(int argc, char** argv) {
  QApplication app(argc, argv);
  QApplication::setApplicationVersion(QStringLiteral("0.1.0"));
  ui::style::EnglishPlurals plurals;
  QApplication::installTranslator(&plurals);
  ProgramPicturesTest test;
  return QTest::qExec(&test, argc, argv);
}

#include "tst_program_pictures.moc"
