// labels: pure
#include <QTest>
#include <cmath>

#include "engine/api/capacity.h"
#include "engine/sim/deployment.h"
#include "engine/sim/device_card.h"
#include "engine/sim/model_card.h"

using namespace engine;
using namespace engine::sim;

namespace {

ModelCard model(const char* name) { return findModelCard(name).value(); }

DeploymentSpec onH100(const char* name, int devices) {
  DeploymentSpec spec;
  spec.device = findDeviceCard("h100").value();
  spec.model = model(name);
  spec.tensorParallel = devices;
  return spec;
}

}  // namespace

class CardsTest : public QObject {
  Q_OBJECT

 private slots:
  void parametersAreThoseOfThePublishedModels_data() {
    QTest::addColumn<qint64>("parameters");
    QTest::newRow("llama-3.1-8b") << qint64{8'030'261'248};
    QTest::newRow("llama-3.1-70b") << qint64{70'553'706'496};
    QTest::newRow("llama-2-7b") << qint64{6'738'415'616};
    QTest::newRow("mistral-7b") << qint64{7'248'023'552};
    QTest::newRow("qwen2.5-0.5b") << qint64{494'032'768};
    QTest::newRow("qwen2.5-7b") << qint64{7'615'616'512};
    QTest::newRow("qwen2.5-72b") << qint64{72'706'203'648};
    QTest::newRow("smollm2-135m") << qint64{134'515'008};
  }
  void parametersAreThoseOfThePublishedModels() {
    QFETCH(qint64, parameters);
    QCOMPARE(model(QTest::currentDataTag()).parameters(), parameters);
  }

  void everyCardIsWhole() {
    QVERIFY(deviceCards().size() >= 5);
    for (const DeviceCard& card : deviceCards()) {
      QVERIFY2(card.memoryBytes > 1e10 && card.readBytesPerSecond > 1e11, card.name.c_str());
      QVERIFY2(card.ops8PerSecond >= card.ops16PerSecond, card.name.c_str());
      QVERIFY2(!card.source.empty() && card.linkBytesPerSecond > 0, card.name.c_str());
    }
    for (const ModelCard& card : modelCards()) {
      QVERIFY2(card.numHeads % card.numKvHeads == 0, card.name.c_str());
      QVERIFY2(card.maxContext >= 4096 && card.parameters() > 1e8, card.name.c_str());
    }
  }

  void anUnknownCardIsRefusedWithTheNamesThereAre() {
    const auto device = findDeviceCard("h1000");
    QVERIFY(!device && device.error().code == ErrorCode::NotFound);
    QCOMPARE(device.error().message,
             "there is no device card h1000; there are h100, h200, a100-80, l40s, rtx-4090");
    const auto weights = parseWeightFormat("int3");
    QVERIFY(!weights && weights.error().message.find("int4") != std::string::npos);
  }

  void ridgesAreThoseOfDenseRates() {
    const auto ridge = [](const char* name) {
      const DeviceCard card = findDeviceCard(name).value();
      return std::lround(card.ops16PerSecond / card.readBytesPerSecond);
    };
    QCOMPARE(ridge("h100"), 295);
    QCOMPARE(ridge("h200"), 206);
    QCOMPARE(ridge("a100-80"), 153);
  }

  void seventyBillionDoNotFitOneH100AndSaySo() {
    const auto one = deploy(onH100("llama-3-70b", 1));
    QVERIFY(!one);
    QCOMPARE(one.error().message,
             "llama-3-70b in bf16 takes 141.1 GB; 1 x h100 at 90 % hold 72.0 GB");
    const auto two = deploy(onH100("llama-3-70b", 2));
    QVERIFY(two);
    QVERIFY(two->capacityTokens > 8800 && two->capacityTokens < 8900);
  }

  void headsMustBeDealtEvenly() {
    const auto uneven = deploy(onH100("qwen2.5-0.5b", 4));  // 14 heads
    QVERIFY(!uneven && uneven.error().code == ErrorCode::InvalidArgument);
    // two key-value heads on seven devices: each kept 3.5 times
    const auto seven = deploy(onH100("qwen2.5-0.5b", 7)).value();
    QCOMPARE(seven.kvBytesPerToken, 24 * 2 * 2 * 64 * 2 * 3.5);
  }

  void awqWeightsAreFourAndAQuarterBits() {
    QVERIFY(std::abs(weightBytes(model("llama-3-70b"), WeightFormat::Int4) - 37.5e9) < 0.1e9);
  }

  void windowsAreThoseOfTheCard() {
    const accounting::ModelShape shape =
        shapeOf(model("gemma-3-270m"), WeightFormat::Bf16, KvDType::BF16);
    QCOMPARE(shape.windows.size(), std::size_t{18});
    QCOMPARE(shape.windows[4], 512);
    QCOMPARE(shape.windows[5], 0);
    QVERIFY(shapeOf(model("llama-3-8b"), WeightFormat::Bf16, KvDType::BF16).windows.empty());
  }
};

QTEST_GUILESS_MAIN(CardsTest)
#include "tst_cards.moc"
