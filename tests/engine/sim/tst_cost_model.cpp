// labels: pure
#include <QTest>
#include <cmath>

#include "engine/sim/cost_fit.h"
#include "engine/sim/deployment.h"

using namespace engine;
using namespace engine::sim;

namespace {

bool near(double a, double b, double share) { return std::abs(a - b) <= share * std::abs(b); }

// The roofline alone, no overhead. Weights count all 8.03e9 parameters, as the worked numbers do.
CostModel roofline(const char* modelName, int devices, double weightBytes) {
  CostModelSpec spec;
  spec.device = findDeviceCard("h100").value();
  spec.device.stepOverheadSeconds = 0;
  spec.shape = shapeOf(findModelCard(modelName).value(), WeightFormat::Bf16, KvDType::BF16);
  spec.shape.layerWeightBytes = weightBytes;
  spec.shape.outputWeightBytes = spec.shape.embeddingRowBytes = 0;
  spec.tensorParallel = devices;
  spec.coefficients = CostCoefficients::ideal();
  return CostModel(spec);
}

std::vector<accounting::RowCost> decodeRows(int users, std::int64_t length) {
  return std::vector<accounting::RowCost>(static_cast<std::size_t>(users), {1, length, 1});
}

}  // namespace

class CostModelTest : public QObject {
  Q_OBJECT

 private slots:
  // 8B on an H100: 16.06 GB at 3.35 TB/s are 4.79 ms; each user's cache comes on top
  void decodeStepsOfEightBillionAreThoseWorkedByHand_data() {
    QTest::addColumn<int>("users");
    QTest::addColumn<qint64>("length");
    QTest::addColumn<double>("ms");
    QTest::newRow("1 user at 8192") << 1 << qint64{8192} << 5.11;
    QTest::newRow("32 users at 8192") << 32 << qint64{8192} << 15.05;
    QTest::newRow("1 user at 512") << 1 << qint64{512} << 4.81;
    QTest::newRow("32 users at 512") << 32 << qint64{512} << 5.44;
  }
  void decodeStepsOfEightBillionAreThoseWorkedByHand() {
    QFETCH(int, users);
    QFETCH(qint64, length);
    QFETCH(double, ms);
    const CostModel model = roofline("llama-3-8b", 1, 16.06e9);
    QVERIFY(near(model.stepSeconds(decodeRows(users, length)) * 1e3, ms, 0.002));
  }

  void twoDevicesReadHalfEach() {
    const auto rows = decodeRows(1, 1);
    const auto withoutLink = [&](const char* name, double bytes) {
      CostModelSpec spec = roofline(name, 2, bytes).spec();
      spec.device.linkBytesPerSecond = 1e30;
      return CostModel(spec).stepSeconds(rows) * 1e3;
    };
    QVERIFY(near(withoutLink("llama-3-70b", 141.1e9), 21.06, 0.001));
    QVERIFY(near(withoutLink("llama-3-8b", 16.06e9), 2.397, 0.001));
    // the link adds 2 all-reduces a layer: 80 x 2 x (8192 x 2 bytes / 450 GB/s)
    const double linked = roofline("llama-3-70b", 2, 141.1e9).stepSeconds(rows) * 1e3;
    QVERIFY(near(linked - withoutLink("llama-3-70b", 141.1e9), 160 * 16384 / 450e9 * 1e3, 0.01));
  }

  void verifyingFiveTokensIsNearlyFreeOnAGpu() {
    const CostModel model = roofline("llama-3-8b", 1, 16.06e9);
    const accounting::RowCost one{1, 512, 1}, five{5, 516, 5};
    QVERIFY(model.stepSeconds(std::span(&five, 1)) < 1.01 * model.stepSeconds(std::span(&one, 1)));
  }

  void aLongPromptIsBoundByComputing() {
    const CostModel model = roofline("llama-3-8b", 1, 16.06e9);
    const accounting::RowCost rows{8192, 8192, 1};
    const double flops = accounting::stepCost(model.spec().shape, std::span(&rows, 1)).flops;
    QVERIFY(near(model.stepSeconds(std::span(&rows, 1)), flops / 989e12, 1e-6));
  }

  void noRowsTakeNoTime() {
    QCOMPARE(roofline("llama-3-8b", 1, 16.06e9).stepSeconds({}), 0.0);
  }

  // Steps made by known coefficients: the fit must predict other steps of the same machine.
  void aFitFindsTheMachineThatMadeTheSteps() {
    CostModelSpec spec;
    spec.device = {"cpu", "", "", 24e9, 40e9, 300e9, 1200e9, 0, 0};
    spec.shape = shapeOf(findModelCard("smollm2-135m").value(), WeightFormat::Q4_1, KvDType::BF16);
    spec.is8BitCompute = true;
    CostModelSpec truth = spec;
    truth.coefficients = {0.22, 0.31, 0.83, 0.6, 0.2, 0.7, 0};
    const CostModel machine(truth);
    std::vector<MeasuredStep> seen;
    for (const auto& [users, length] :
         {std::pair{1, 700}, {3, 128}, {6, 3000}, {12, 300}, {24, 1000}, {28, 100}}) {
      seen.push_back({decodeRows(users, length), 0});
      seen.back().seconds = machine.stepSeconds(seen.back().rows);
    }
    const auto fitted = fitCoefficients(spec, seen);
    QVERIFY(fitted);
    CostModelSpec found = spec;
    found.coefficients = *fitted;
    for (int users : {1, 2, 4, 8, 16, 32}) {
      for (std::int64_t length : {1, 512, 2048, 8192}) {
        const auto rows = decodeRows(users, length);
        QVERIFY(near(CostModel(found).stepSeconds(rows), machine.stepSeconds(rows), 0.05));
      }
    }
  }

  void aStepWithoutTimeCannotBeFitted() {
    CostModelSpec spec = roofline("llama-3-8b", 1, 16.06e9).spec();
    QVERIFY(!fitCoefficients(spec, {}));
    const std::vector<MeasuredStep> broken = {{decodeRows(1, 1), 0.0}};
    QVERIFY(!fitCoefficients(spec, broken));
  }
};

QTEST_GUILESS_MAIN(CostModelTest)
#include "tst_cost_model.moc"
