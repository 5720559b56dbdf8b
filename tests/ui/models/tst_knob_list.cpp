// Knobs as they are typed: the same words as on the command line, and nothing lost between text and value.
#include "ui/models/knob_list.h"

#include <QTest>

#include "ui/models/acceptance.h"
#include "ui/models/knob_text.h"

using namespace ui::models;

class KnobListTest : public QObject {
  Q_OBJECT

 private slots:
  void everyKnobReadsBackWhatItShows() {
    engine::EngineConfig config;
    for (const Knob& knob : allKnobs()) {
      engine::EngineConfig same = config;
      QVERIFY2(knob.take(same, knob.text(config)), qPrintable(knob.name));
      QVERIFY2(same == config, qPrintable(knob.name));
    }
    QCOMPARE(allKnobs().size(), std::size_t{25});  // COMMANDS.md: 13 live, 12 that need a reload
  }

  void wrongValuesAreNamedAndChangeNothing_data() {
    QTest::addColumn<QString>("knob");
    QTest::addColumn<QString>("value");
    QTest::addColumn<QString>("sentence");
    QTest::newRow("low") << "max-seqs" << "0" << "max-seqs is 0; it takes 1 to 65536";
    QTest::newRow("high") << "max-batched-tokens" << "9999999" << "max-batched-tokens is 9999999; it takes 1 to 1048576";
    QTest::newRow("word") << "max-seqs" << "many" << "max-seqs is many; it takes a whole number";
    QTest::newRow("empty") << "threads" << "" << "threads is empty; it takes a whole number";
    QTest::newRow("power") << "block-size" << "20" << "block-size is 20; it takes a power of two from 1 to 4096";
    QTest::newRow("choice") << "policy" << "luck" << "policy is luck; it takes fcfs, priority, slo";
    QTest::newRow("not a number") << "queue-delay-ms" << "nan" << "queue-delay-ms is nan; it takes 0 to 60000";
    QTest::newRow("bytes") << "kv-memory" << "1T" << "kv-memory is 1T; it takes bytes, with K, M or G";
    QTest::newRow("negative") << "kv-memory" << "-4" << "kv-memory is -4; it takes 0 or more";
  }
  void wrongValuesAreNamedAndChangeNothing() {
    QFETCH(QString, knob);
    QFETCH(QString, value);
    QFETCH(QString, sentence);
    engine::EngineConfig config;
    QCOMPARE(turnKnob(*findKnob(QLatin1String(knob.toLatin1())), value, config), sentence);
    QVERIFY(config == engine::EngineConfig{});
  }

  void rightOnesAreTaken() {
    engine::EngineConfig config;
    QCOMPARE(turnKnob(*findKnob(QLatin1String("kv-memory")), "512M", config), QString());
    QCOMPARE(config.load.kvMemoryBytes, std::int64_t{512} << 20);
    QCOMPARE(findKnob(QLatin1String("kv-memory"))->text(config), QString("512M"));
    QCOMPARE(turnKnob(*findKnob(QLatin1String("speculate")), "ngram", config), QString());
    QVERIFY(config.limits.speculation == engine::SpeculationKind::Ngram);
  }

  void changesReadAsOnTheCommandLine() {
    engine::KnobRecord knob{0, 0, 1, "policy"};
    QCOMPARE(describeKnobChange(knob), QString("policy fcfs → priority"));
    engine::KnobRecord number{0, 64, 8, "max-seqs"};
    QCOMPARE(describeKnobChange(number), QString("max-seqs 64 → 8"));
    engine::KnobRecord unknown{0, 1, 2, "of-a-later-version"};
    QCOMPARE(describeKnobChange(unknown), QString("of-a-later-version 1 → 2"));
  }

  void acceptanceCountsEachPosition() {
    Acceptance acceptance;
    const auto step = [&](std::uint64_t id, std::int64_t t0, std::uint16_t drafted, std::uint16_t accepted) {
      engine::SliceRecord slice{};
      slice.iteration = id;
      slice.drafted = drafted;
      slice.accepted = accepted;
      engine::IterationRecord record{};
      record.id = id;
      record.t0Ns = t0;
      acceptance.add({engine::TraceEvent(slice), engine::TraceEvent(record)});
    };
    step(1, 0, 4, 4);
    step(2, 10, 4, 1);
    step(3, 20, 2, 0);
    step(4, 30, 0, 0);  // nothing was guessed: no pass
    const auto all = acceptance.figures(0, 100);
    QCOMPARE(all.drafted, (std::vector<std::int64_t>{3, 3, 2, 2}));
    QCOMPARE(all.accepted, (std::vector<std::int64_t>{2, 1, 1, 1}));
    QCOMPARE(all.tokensPerPass(), 8.0 / 3.0);
    const auto first = acceptance.figures(0, 10);
    QCOMPARE(first.passes, std::int64_t{1});
    QCOMPARE(first.rateAt(3), 1.0);
  }
};

QTEST_GUILESS_MAIN(KnobListTest)
#include "tst_knob_list.moc"
