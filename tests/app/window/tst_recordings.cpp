// Recorded runs in the window: the one that ships, scrubbing both ways, files that are none.
#include "app/window/recordings.h"

#include <QApplication>
#include <QFile>
#include <QLabel>
#include <QRegularExpression>
#include <QSlider>
#include <QTemporaryDir>
#include <QTest>

#include "app/window/traffic_plan.h"
#include "engine/trace/trace_record.h"
#include "tests/support/fake_engine_handle.h"
#include "ui/main_window.h"
#include "ui/panels/answer_card.h"
#include "ui/panels/banner.h"
#include "ui/panels/chat_panel.h"
#include "ui/panels/composer.h"
#include "ui/panels/first_run_page.h"
#include "ui/panels/replay_bar.h"
#include "ui/panels/replay_panel.h"
#include "ui/panels/view_card.h"
#include "ui/style/english_plurals.h"
#include "ui/views/context_gauge.h"
#include "ui/views/engine_strip.h"

using ui::MainWindow;

namespace {

QByteArray demo() {
  QFile file(qEnvironmentVariable("TESSERA_SOURCE_DIR") + "/resources/demo.trace");
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

struct Stage {
  explicit Stage(const QString& dir)
      : settings(dir + "/tessera.ini", QSettings::IniFormat), store(dir + "/chats.sqlite"), theme(*qApp),
        window(ui::WindowParts{fake, store, settings, theme, app::window::drawTraffic, app::window::openRecording}) {
    window.start({});
    window.resize(1280, 800);
    window.show();
  }
  ui::bridge::EngineBridge& bridge() { return window.engineBridge(); }
  void seek(double share) {
    auto* replay = bridge().replay();
    bridge().seekReplay(replay->beginNs() + static_cast<std::int64_t>(share * static_cast<double>(replay->endNs() - replay->beginNs())));
  }
  std::size_t steps() { return window.record().steps().columns().size(); }

  tests::FakeEngineHandle fake;
  QSettings settings;
  ui::models::ChatStore store;
  ui::style::Theme theme;
  MainWindow window;
};

}  // namespace

class RecordingsTest : public QObject {
  Q_OBJECT

 private slots:
  void theOneThatShipsPlaysWithoutAModel() {
    QVERIFY(demo().size() > 1000 && demo().size() <= 2 * 1024 * 1024);
    QTemporaryDir dir;
    Stage stage(dir.path());
    stage.window.openRecording();
    QVERIFY(stage.window.isRecordingOpen());
    QCOMPARE(stage.window.banner().text(), QString());
    stage.bridge().send(engine::Pause{});
    stage.seek(1.0);
    QVERIFY(stage.steps() > 100);
    QVERIFY(stage.window.record().lanes().lanes().size() >= 16);
    QVERIFY(stage.window.record().figures().timeToFirstToken().size() >= 16);
    QVERIFY(stage.window.replayPanel().texts().all().size() >= 16);
    QVERIFY(stage.window.replayPanel().shownText().contains("user: "));
  }

  void goingBackUndoesWhatCameLater() {
    QTemporaryDir dir;
    Stage stage(dir.path());
    stage.window.openRecording();
    stage.bridge().send(engine::Pause{});
    stage.seek(0.3);
    const std::size_t early = stage.steps();
    const QString earlyText = stage.window.replayPanel().shownText();
    stage.seek(0.9);
    QVERIFY(stage.steps() > early);
    stage.seek(0.3);
    QCOMPARE(stage.steps(), early);
    QCOMPARE(stage.window.replayPanel().shownText(), earlyText);
    QVERIFY(stage.window.record().figures().latestNs() <= stage.bridge().nowNs());
  }

  void theSliderAndTheStepsMoveIt() {
    QTemporaryDir dir;
    Stage stage(dir.path());
    stage.window.openRecording();
    stage.bridge().send(engine::Pause{});
    auto& bar = stage.window.replayBar();
    QVERIFY(bar.isVisible());
    bar.slider().setValue(5000);
    const std::int64_t middle = stage.bridge().nowNs();
    const std::size_t steps = stage.steps();
    bar.step(1);
    QVERIFY(stage.bridge().nowNs() > middle);
    QCOMPARE(stage.steps(), steps + 1);
    bar.step(-1);
    bar.step(-1);
    QVERIFY(stage.steps() < steps + 1);
    QTest::keyClick(&bar.slider(), Qt::Key_Home);
    QVERIFY(stage.steps() <= 1);
  }

  void headerAndBarShowOneClock() {
    QTemporaryDir dir;
    Stage stage(dir.path());
    stage.window.openRecording();
    stage.bridge().send(engine::Pause{});
    stage.seek(0.5);
    const std::int64_t endNs = stage.window.record().steps().columns().back().iteration.t1Ns;
    stage.bridge().seekReplay(endNs);  // where an iteration ends both tell of the same moment
    const auto labelOf = [&](const QString& name) -> QString {
      for (auto* label : stage.window.findChildren<QLabel*>()) {
        if (label->accessibleName() == name) return label->text();
      }
      return {};
    };
    const QString header = labelOf("Iteration and time"), bar = labelOf("Time in the recording");
    const auto inHeader = QRegularExpression("t = ([0-9.]+) s").match(header);
    const auto inBar = QRegularExpression("^([0-9.]+) of").match(bar);
    QVERIFY2(inHeader.hasMatch() && inBar.hasMatch(), qPrintable(header + " | " + bar));
    QVERIFY2(std::abs(inHeader.captured(1).toDouble() - inBar.captured(1).toDouble()) < 0.0101, qPrintable(header + " | " + bar));
    QVERIFY(inBar.captured(1).toDouble() > 0);
  }

  void closingItBringsTheEngineBack() {
    QTemporaryDir dir;
    Stage stage(dir.path());
    stage.fake.loadAtOnce("/models/m.gguf");
    stage.window.openRecording();
    stage.seek(0.5);
    stage.window.closeRecording();
    QVERIFY(!stage.window.isRecordingOpen() && !stage.window.replayBar().isVisible());
    QCOMPARE(stage.steps(), std::size_t{0});
    QCOMPARE(stage.bridge().liveSnapshot()->model->path, std::string("/models/m.gguf"));
    QVERIFY(stage.bridge().capabilities().canSubmit);
  }

  void nothingOfItIsLeftInTheChat() {
    QTemporaryDir dir;
    Stage stage(dir.path());
    stage.fake.loadAtOnce("/models/m.gguf");
    auto& composer = stage.window.chatPanel().composer();
    composer.setText("some words that take room");
    QTRY_VERIFY2(composer.gauge().caption().endsWith("2,048 tokens"), qPrintable(composer.gauge().caption()));
    const QString asked = composer.gauge().caption();
    composer.setText("some words that take room!");  // its question is under way when the recording opens
    stage.window.openRecording();
    stage.seek(0.5);
    QTest::qWait(300);
    stage.window.closeRecording();
    composer.setText("some words that take room");
    QTRY_COMPARE(composer.gauge().caption(), asked);
    auto* card = stage.window.findChild<ui::panels::AnswerCard*>();
    stage.window.openRecording();
    stage.window.setPerspective(ui::panels::Perspective::Chat);
    QVERIFY(!card->isVisible());  // it would tell of the chat's answer beside the recorded one
    stage.window.closeRecording();
    QVERIFY(card->isVisible());
    auto* strip = stage.window.findChild<ui::views::EngineStrip*>();
    QCOMPARE(strip->numColumns(), 0);
  }

  void withoutAModelTheFirstPageComesBack() {
    QTemporaryDir dir;
    Stage stage(dir.path());
    QVERIFY(stage.window.chatPanel().firstRun().isVisible());
    stage.window.openRecording();
    stage.seek(0.5);
    stage.window.closeRecording();
    stage.window.setPerspective(ui::panels::Perspective::Chat);
    QTRY_VERIFY(stage.window.chatPanel().firstRun().isVisible());
  }

  void aClickBesideTheHandleJumpsThere() {
    QTemporaryDir dir;
    Stage stage(dir.path());
    stage.window.openRecording();
    stage.bridge().send(engine::Pause{});
    stage.seek(0.0);
    QTest::qWait(50);  // laid out
    QSlider& slider = stage.window.replayBar().slider();
    QTest::mouseClick(&slider, Qt::LeftButton, {}, {slider.width() * 3 / 4, slider.height() / 2});
    const double share = double(slider.value()) / slider.maximum();
    QVERIFY2(share > 0.73 && share < 0.77, qPrintable(QString::number(share)));
  }

  // What stands beside a title tells of now, whichever way its view is read.
  void figuresBesideATableMoveOn() {
    QTemporaryDir dir;
    Stage stage(dir.path());
    stage.window.openRecording();
    stage.bridge().send(engine::Pause{});
    stage.seek(0.2);
    ui::panels::ViewCard* map = nullptr;
    for (auto* card : stage.window.findChildren<ui::panels::ViewCard*>()) {
      if (card->accessibleName() == "KV block map") map = card;
    }
    QTRY_VERIFY(map && map->isSeen());
    map->showTable(true);
    QTRY_VERIFY(map->figure().contains("blocks"));
    const QString early = map->figure();
    stage.seek(1.0);
    QTRY_VERIFY2(map->figure() != early && map->figure().contains("0 used"), qPrintable(map->figure()));
  }

  void whatIsNoRecordingIsToldInOneSentence_data() {
    QTest::addColumn<QByteArray>("content");
    QTest::addColumn<QString>("words");
    QByteArray later = demo();
    if (later.size() > 12) later[8] = char(engine::trace::kTraceVersion + 1);
    QTest::newRow("empty") << QByteArray("") << "is not a trace file";
    QTest::newRow("text") << QByteArray("this is no trace\n").repeated(50) << "is not a trace file";
    QTest::newRow("later version") << later << "reads version";
    QTest::newRow("only a signature") << demo().left(12) << "holds nothing that could be shown";
    QTest::newRow("missing") << QByteArray() << "there is no file";
  }
  void whatIsNoRecordingIsToldInOneSentence() {
    QFETCH(QByteArray, content);
    QFETCH(QString, words);
    QTemporaryDir dir;
    const QString path = dir.filePath("x.trace");
    if (!content.isNull()) {
      QFile file(path);
      QVERIFY(file.open(QIODevice::WriteOnly));
      file.write(content);
    }
    QVERIFY(app::window::isRecording(path));
    Stage stage(dir.path());
    stage.window.openRecording(path);
    QVERIFY(!stage.window.isRecordingOpen());
    QVERIFY2(stage.window.banner().text().contains(words), qPrintable(stage.window.banner().text()));
  }

  void aCutOnePlaysUpToTheCutAndSaysSo() {
    QTemporaryDir dir;
    const QString path = dir.filePath("cut.trace");
    QFile file(path);
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(demo().left(demo().size() * 2 / 3));
    file.close();
    Stage stage(dir.path());
    stage.window.openRecording(path);
    QVERIFY(stage.window.isRecordingOpen());
    stage.seek(1.0);
    QVERIFY(stage.steps() > 20);
    QVERIFY2(stage.window.banner().text().contains("is shown up to there"), qPrintable(stage.window.banner().text()));
  }

  // Views of the shipped recording, and what each looks like as a table; kept where TESSERA_PICTURES says.
  void everyViewReadsAsATable() {
    QTemporaryDir dir;
    Stage stage(dir.path());
    stage.window.openRecording();
    stage.bridge().send(engine::Pause{});
    stage.seek(0.8);
    const QString out = qEnvironmentVariable("TESSERA_PICTURES");
    for (auto perspective : {ui::panels::Perspective::Teach, ui::panels::Perspective::Tune}) {
      stage.window.setPerspective(perspective);
      const QString name = perspective == ui::panels::Perspective::Teach ? "replay-teach" : "replay-tune";
      for (bool isTable : {false, true}) {
        for (auto* card : stage.window.findChildren<ui::panels::ViewCard*>()) {
          if (!card->isVisible() || card->accessibleName() == "Traffic") continue;
          card->showTable(isTable);
          if (isTable && card->accessibleName() != "Knobs") QVERIFY2(card->csv().count('\n') > 1, qPrintable(card->accessibleName()));
        }
        QTest::qWait(250);
        if (!out.isEmpty()) stage.window.grab().save(QString("%1/%2%3.png").arg(out, name, isTable ? "-table" : ""));
      }
    }
  }

  void trafficIsDrawnAsOnTheCommandLine() {
    ui::models::TrafficSpec spec;
    spec.users = 5;
    spec.rounds = 3;
    spec.promptLengths = "fixed:20";
    spec.outputLengths = "fixed:7";
    spec.sharedPrefix = 12;
    const auto plan = app::window::drawTraffic(spec, {3, 4, 5, 6, 7});
    QVERIFY(plan.isOk());
    QCOMPARE((*plan)->size(), std::int64_t{15});
    const auto first = std::get<engine::TokenPrompt>((*plan)->request(0).prompt).ids;
    const auto second = std::get<engine::TokenPrompt>((*plan)->request(1).prompt).ids;
    QCOMPARE(first.size(), std::size_t{20});
    QVERIFY(std::equal(first.begin(), first.begin() + 12, second.begin()));
    QVERIFY(first != second);
    QCOMPARE((*plan)->request(0).sampling.maxTokens, std::int64_t{7});
    spec.users = 0;
    QCOMPARE(QString::fromStdString(app::window::drawTraffic(spec, {3}).error().message),
             QString("requests is 0; it takes 1 to 1000000"));
    spec.users = 5;
    spec.outputLengths = "sometimes";
    QVERIFY(QString::fromStdString(app::window::drawTraffic(spec, {3}).error().message).startsWith("output-lengths: "));
  }
};

int main(int argc, char** argv) {
  QApplication app(argc, argv);
  ui::style::EnglishPlurals plurals;
  QApplication::installTranslator(&plurals);
  RecordingsTest test;
  return QTest::qExec(&test, argc, argv);
}

#include "tst_recordings.moc"
