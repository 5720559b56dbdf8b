// Values outside their range become one sentence that names field, value and limits (H09).
// labels: pure
#include <functional>
#include <limits>

#include <QtTest>

#include "engine/api/sampling_params.h"

using namespace engine;

class TestSamplingParams : public QObject {
  Q_OBJECT

 private:
  using Change = std::function<void(SamplingParams&)>;

 private slots:

  void neutralAndExtremeValuesInsideTheRangesPass() {
    SamplingParams params;
    QVERIFY(checkSamplingParams(params, 100).isOk());
    params.temperature = 2.0f;
    params.topP = params.minP = params.typicalP = 0.0f;
    params.topK = 2147483647;
    params.repetitionPenalty = 10.0f;
    params.presencePenalty = -2.0f;
    params.frequencyPenalty = 2.0f;
    params.logitBias = {{99, -100.0f}};
    params.stop = {"a"};
    params.maxTokens = std::numeric_limits<std::int64_t>::max();
    QVERIFY(checkSamplingParams(params, 100).isOk());
  }

  void valuesOutsideAreNamed_data() {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    QTest::addColumn<Change>("change");
    QTest::addColumn<QString>("field");
    QTest::addColumn<QString>("value");
    const auto row = [](const char* field, const char* value, Change change) {
      QTest::addRow("%s %s", field, value) << std::move(change) << QString(field) << QString(value);
    };
    row("temperature", "-1", [](SamplingParams& p) { p.temperature = -1.0f; });
    row("temperature", "1e+30", [](SamplingParams& p) { p.temperature = 1e30f; });
    row("temperature", "nan", [nan](SamplingParams& p) { p.temperature = nan; });
    row("top-p", "-1", [](SamplingParams& p) { p.topP = -1.0f; });
    row("top-p", "1.5", [](SamplingParams& p) { p.topP = 1.5f; });
    row("top-p", "nan", [nan](SamplingParams& p) { p.topP = nan; });
    row("min-p", "2", [](SamplingParams& p) { p.minP = 2.0f; });
    row("typical-p", "nan", [nan](SamplingParams& p) { p.typicalP = nan; });
    row("top-k", "-5", [](SamplingParams& p) { p.topK = -5; });
    row("top-k", "2147483648", [](SamplingParams& p) { p.topK = 2147483648; });
    row("repetition-penalty", "0", [](SamplingParams& p) { p.repetitionPenalty = 0.0f; });
    row("repetition-penalty", "nan", [nan](SamplingParams& p) { p.repetitionPenalty = nan; });
    row("presence-penalty", "2.5", [](SamplingParams& p) { p.presencePenalty = 2.5f; });
    row("frequency-penalty", "-3", [](SamplingParams& p) { p.frequencyPenalty = -3.0f; });
    row("max-tokens", "0", [](SamplingParams& p) { p.maxTokens = 0; });
    row("max-tokens", "-1", [](SamplingParams& p) { p.maxTokens = -1; });
    row("logit-bias", "100", [](SamplingParams& p) { p.logitBias = {{100, 1.0f}}; });
    row("logit-bias", "-1", [](SamplingParams& p) { p.logitBias = {{-1, 1.0f}}; });
    row("stop", "empty", [](SamplingParams& p) { p.stop = {"x", ""}; });
  }

  void valuesOutsideAreNamed() {
    QFETCH(Change, change);
    QFETCH(QString, field);
    QFETCH(QString, value);
    SamplingParams params;
    change(params);
    const auto checked = checkSamplingParams(params, 100);
    QVERIFY(!checked.isOk());
    QCOMPARE(checked.error().code, ErrorCode::InvalidArgument);
    const QString message = QString::fromStdString(checked.error().message);
    QVERIFY2(message.contains(field) && message.contains(value), qPrintable(message));
  }

  void biasIdsAreUncheckedAboveWithoutAVocabulary() {
    SamplingParams params;
    params.logitBias = {{1 << 30, 1.0f}};
    QVERIFY(checkSamplingParams(params, 0).isOk());
  }
};

QTEST_GUILESS_MAIN(TestSamplingParams)
#include "tst_sampling_params.moc"
