// Knobs outside their range become one sentence that names knob, value and limits.
// labels: pure
#include <limits>

#include <QtTest>

#include "engine/api/engine_config.h"

using namespace engine;

class TestEngineConfig : public QObject {
  Q_OBJECT

 private slots:

  void defaultsPass() {
    QVERIFY(checkLoadConfig({}).isOk());
    QVERIFY(checkSchedulerLimits({}).isOk());
  }

  void blockSizesArePowersOfTwo() {
    for (const int good : {1, 2, 16, 256}) {
      LoadConfig config;
      config.blockSize = good;
      QVERIFY(checkLoadConfig(config).isOk());
    }
    for (const int bad : {-16, 0, 3, 24, 1 << 20}) {
      LoadConfig config;
      config.blockSize = bad;
      const auto checked = checkLoadConfig(config);
      QVERIFY(!checked.isOk());
      QVERIFY(checked.error().message.find(std::to_string(bad)) != std::string::npos);
    }
  }

  void limitsNameTheKnob() {
    SchedulerLimits limits;
    limits.maxBatchedTokens = 0;
    QVERIFY(checkSchedulerLimits(limits).error().message.find("max-batched-tokens is 0") == 0);
    limits = {};
    limits.queueDelayMs = std::numeric_limits<double>::quiet_NaN();
    QVERIFY(checkSchedulerLimits(limits).error().message.find("queue-delay-ms") == 0);
    limits = {};
    limits.maxSeqs = -4;
    QVERIFY(checkSchedulerLimits(limits).error().message.find("max-seqs is -4") == 0);
  }
};

QTEST_GUILESS_MAIN(TestEngineConfig)
#include "tst_engine_config.moc"
