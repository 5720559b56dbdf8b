// Turning knobs and starting traffic as a user does, with a scripted engine behind.
#include "ui/panels/knobs_panel.h"

#include <QApplication>
#include <QComboBox>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalSpy>
#include <QTest>

#include "tests/support/fake_engine_handle.h"
#include "ui/bridge/engine_bridge.h"
#include "ui/models/run_record.h"
#include "ui/panels/traffic_panel.h"

using ui::panels::KnobsPanel;
using ui::panels::TrafficPanel;

namespace {

// Eight words a prompt, one user a second; refuses a rate of 0 as the real drawing does.
class EvenPlan : public ui::models::TrafficPlan {
 public:
  explicit EvenPlan(const ui::models::TrafficSpec& spec) : m_spec(spec) {}
  std::int64_t size() const override { return m_spec.isClosed() ? m_spec.users * m_spec.rounds : m_spec.users; }
  double atMs(std::int64_t index) const override { return m_spec.isClosed() ? 0 : 1000.0 * static_cast<double>(index); }
  engine::RequestSpec request(std::int64_t) const override {
    engine::RequestSpec spec;
    spec.prompt = engine::TokenPrompt{std::vector<engine::TokenId>(8, 1)};
    spec.sampling.maxTokens = 4;
    return spec;
  }

 private:
  ui::models::TrafficSpec m_spec;
};

engine::Result<std::shared_ptr<const ui::models::TrafficPlan>> drawEven(const ui::models::TrafficSpec& spec,
                                                                        const std::vector<engine::TokenId>&) {
  if (spec.ratePerSecond <= 0) return engine::Error{engine::ErrorCode::InvalidArgument, "rate is 0; it takes numbers above 0"};
  return std::shared_ptr<const ui::models::TrafficPlan>(std::make_shared<EvenPlan>(spec));
}

struct Stage {
  Stage() {
    fake.loadAtOnce("/models/m.gguf");
    bridge.pull();
    knobs.resize(320, 600);
    traffic.resize(320, 500);
    knobs.show();
    traffic.show();
  }
  void pull(int steps = 1) {
    for (int i = 0; i < steps; ++i) {
      fake.advance(1);
      bridge.pull();
    }
  }
  void type(const QString& knob, const QString& value) {
    auto* edit = qobject_cast<QLineEdit*>(knobs.editorOf(knob));
    QVERIFY(edit);
    edit->setFocus();
    edit->selectAll();
    QTest::keyClicks(edit, value);
    QTest::keyClick(edit, Qt::Key_Return);
  }

  tests::FakeEngineHandle fake;
  ui::bridge::EngineBridge bridge{fake};
  ui::bridge::Selection selection;
  ui::models::RunRecord record{bridge};
  ui::panels::ViewParts parts{bridge, selection, record};
  KnobsPanel knobs{parts};
  TrafficPanel traffic{parts, drawEven};
};

}  // namespace

class KnobsPanelTest : public QObject {
  Q_OBJECT

 private slots:
  void aLiveKnobActsAtOnce() {
    Stage stage;
    stage.type("max-seqs", "8");
    QCOMPARE(stage.fake.countCommands<engine::SetLimits>(), 1);
    QCOMPARE(stage.fake.state().config.limits.maxSeqs, 8);
    stage.pull();
    QCOMPARE(stage.knobs.error(), QString());
    QCOMPARE(qobject_cast<QLineEdit*>(stage.knobs.editorOf("max-seqs"))->text(), QString("8"));
    QCOMPARE(stage.fake.countCommands<engine::LoadModel>(), 0);
  }

  void aValueOutOfRangeIsToldAndNotSent() {
    Stage stage;
    stage.type("max-seqs", "0");
    QCOMPARE(stage.knobs.error(), QString("max-seqs is 0; it takes 1 to 65536"));
    QCOMPARE(stage.fake.countCommands<engine::SetLimits>(), 0);
    QCOMPARE(qobject_cast<QLineEdit*>(stage.knobs.editorOf("max-seqs"))->text(), QString("64"));  // what is in force
    stage.type("max-seqs", "16");
    QCOMPARE(stage.knobs.error(), QString());
  }

  void whatTheEngineRefusesIsShownAndTakenBack() {
    Stage stage;
    stage.fake.pushMessage(engine::Notice{engine::Severity::Warning, "policy slo is not built yet"});
    stage.knobs.turn("max-batch", "3");
    stage.bridge.pull();
    QCOMPARE(stage.knobs.error(), QString("policy slo is not built yet"));
  }

  void aKnobThatNeedsReloadShowsItsMemoryFirst() {
    Stage stage;
    stage.knobs.turn("kv-blocks", "64");
    stage.bridge.pull();
    const auto before = stage.knobs.effectOnMemory();
    QVERIFY2(before.contains("KV pool") && before.contains("→"), qPrintable(before));
    QVERIFY2(before.contains("weights 92.0 MB"), qPrintable(before));
    QCOMPARE(stage.fake.countCommands<engine::LoadModel>(), 0);
    QSignalSpy reloads(&stage.knobs, &KnobsPanel::reloadWanted);
    for (auto* button : stage.knobs.findChildren<QPushButton*>()) {
      if (button->text() == "Reload with these") button->click();
    }
    QCOMPARE(reloads.count(), 1);
    QCOMPARE(reloads.at(0).at(0).value<engine::EngineConfig>().load.kvBlocks, std::int64_t{64});
    for (auto* button : stage.knobs.findChildren<QPushButton*>()) {
      if (button->text() == "Discard") button->click();
    }
    QCOMPARE(qobject_cast<QLineEdit*>(stage.knobs.editorOf("kv-blocks"))->text(), QString("0"));
  }

  void aChangeStandsInTheTable() {
    Stage stage;
    stage.fake.pushEvent(engine::TraceEvent(engine::KnobRecord{2'000'000'000, 64, 8, "max-seqs"}));
    stage.pull();
    QCOMPARE(stage.knobs.csv(), QString("\"at, s\",knob,from,to\n2,max-seqs,64,8\n"));
  }

  void closedUsersAskAgainWhenTheyAreAnswered() {
    Stage stage;
    stage.traffic.setField("requests", "3");
    stage.traffic.setField("rounds", "2");
    stage.traffic.startButton().click();
    stage.bridge.pull();
    QCOMPARE(stage.traffic.error(), QString());
    QCOMPARE(stage.traffic.run().figures().running, std::int64_t{3});
    stage.pull(60);
    const auto figures = stage.traffic.run().figures();
    QCOMPARE(figures.sent, std::int64_t{6});
    QCOMPARE(figures.done, std::int64_t{6});
    QCOMPARE(figures.good, std::int64_t{6});
    QVERIFY(figures.goodput() > 0);
    QVERIFY(!stage.traffic.run().isRunning());
    QCOMPARE(stage.traffic.csv().count('\n'), 7);
    QVERIFY(stage.traffic.csv().contains("user 3,done,"));
  }

  void anSloThatIsMissedIsNoGoodput() {
    Stage stage;
    stage.traffic.setField("requests", "2");
    stage.traffic.setField("rounds", "1");
    stage.traffic.setField("slo-ttft-ms", "0.5");
    stage.traffic.startButton().click();
    stage.pull(40);
    const auto figures = stage.traffic.run().figures();
    QCOMPARE(figures.done, std::int64_t{2});
    QCOMPARE(figures.good, std::int64_t{0});
    QCOMPARE(figures.goodput(), 0.0);
  }

  void stoppingCancelsThoseUnderWay() {
    Stage stage;
    stage.traffic.setField("requests", "4");
    stage.traffic.startButton().click();
    stage.bridge.pull();
    stage.traffic.startButton().click();
    QCOMPARE(stage.fake.countCommands<engine::Cancel>(), 4);
    stage.bridge.pull();
    QVERIFY(!stage.traffic.run().isRunning());
    const int sent = stage.fake.countCommands<engine::Submit>();
    stage.pull(20);
    QCOMPARE(stage.fake.countCommands<engine::Submit>(), sent);
  }

  void wrongTrafficIsNamed() {
    Stage stage;
    stage.traffic.setField("arrival", "poisson");
    stage.traffic.setField("rate", "0");
    stage.traffic.toggle();
    QCOMPARE(stage.traffic.error(), QString("rate is 0; it takes numbers above 0"));
    stage.traffic.setField("rate", "often");
    stage.traffic.toggle();
    QCOMPARE(stage.traffic.error(), QString("rate is often; it takes a number"));
    QCOMPARE(stage.fake.countCommands<engine::Submit>(), 0);
  }
};

Q_DECLARE_METATYPE(engine::EngineConfig)
QTEST_MAIN(KnobsPanelTest)
#include "tst_knobs_panel.moc"
