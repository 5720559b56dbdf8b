// labels: pure
#include <QTemporaryDir>
#include <QTest>
#include <cmath>

#include "engine/service/base_file.h"
#include "engine/service/divergence.h"

using namespace engine;
using service::BaseFileReader;
using service::BaseFileWriter;
using service::BaseHeader;
using service::DivergenceMeter;

namespace {

std::vector<float> logs(std::vector<double> probabilities) {
  std::vector<float> out;
  for (double p : probabilities) out.push_back(static_cast<float>(std::log(p)));
  return out;
}

}  // namespace

class DivergenceTest : public QObject {
  Q_OBJECT

 private slots:
  void sumsFollowTheirDefinitions() {
    // Worked by hand: base (.5 .3 .2), measured (.25 .5 .25).
    DivergenceMeter meter;
    const auto base = logs({0.5, 0.3, 0.2});
    QVERIFY(meter.add(base, base, 1).isOk());
    QVERIFY(meter.add(base, logs({0.25, 0.5, 0.25}), 0).isOk());
    const auto result = meter.result();
    const double kld = 0.5 * std::log(2.0) + 0.3 * std::log(0.6) + 0.2 * std::log(0.8);
    QVERIFY(std::abs(result.maxKld - kld) < 1e-6);
    QVERIFY(std::abs(result.meanKld - kld / 2) < 1e-6);
    QVERIFY(std::abs(result.p99Kld - 0.99 * kld) < 1e-6);
    QCOMPARE(result.top1, 0.5);
    QVERIFY(std::abs(result.rmsDp - std::sqrt(0.25 * 0.25 / 2)) < 1e-6);
    QVERIFY(std::abs(result.pplRatio - std::exp(std::log(2.0) / 2)) < 1e-6);
  }

  void anotherVocabularyIsNamed() {
    DivergenceMeter meter;
    const auto added = meter.add(logs({0.5, 0.5}), logs({0.5, 0.3, 0.2}), 0);
    QVERIFY(!added.isOk());
    QVERIFY(added.error().message.find("2") != std::string::npos);
    QVERIFY(added.error().message.find("3") != std::string::npos);
  }

  void aBaseFileGivesBackItsPositions() {
    QTemporaryDir folder;
    const std::string path = folder.filePath("base").toStdString();
    BaseHeader header{8, 5, 2, std::vector<TokenId>(16, 3)};
    auto writer = BaseFileWriter::create(path, header);
    QVERIFY(writer.isOk());
    const std::vector<float> logits = {1.0f, -2.0f, 3.5f, -40.0f, 0.0f};
    QVERIFY(writer->add(logits).isOk());
    QVERIFY(writer->finish().isOk());

    auto reader = BaseFileReader::open(path);
    QVERIFY2(reader.isOk(), reader.isOk() ? "" : reader.error().message.c_str());
    QCOMPARE(reader->header().context, 8u);
    QCOMPARE(reader->header().tokens, header.tokens);
    std::vector<float> logprobs;
    QVERIFY(reader->next(logprobs).isOk());
    double sum = 0;
    for (float l : logits) sum += std::exp(double{l});
    for (std::size_t i = 0; i < logits.size(); ++i) {
      const double clamped = std::max(double{logits[i]}, 3.5 - 16.0);  // the file's floor
      QVERIFY(std::abs(logprobs[i] - (clamped - std::log(sum))) < 2e-4);
    }
    QVERIFY(!reader->next(logprobs).isOk());  // ends with a reason, not with old numbers
  }

  void aCutOrForeignBaseFileIsRefused() {
    QTemporaryDir folder;
    const QString path = folder.filePath("base");
    {
      auto writer = BaseFileWriter::create(path.toStdString(), BaseHeader{8, 5, 2, std::vector<TokenId>(16, 3)});
      QVERIFY(writer->add(std::vector<float>{1, 2, 3, 4, 5}).isOk());
      QVERIFY(writer->finish().isOk());
    }
    QFile file(path);
    QVERIFY(file.open(QIODevice::ReadOnly));
    const QByteArray whole = file.readAll();
    for (qsizetype size = 0; size < 20 + 16 * 4; size += 7) {
      QFile cut(folder.filePath("cut"));
      QVERIFY(cut.open(QIODevice::WriteOnly));
      cut.write(whole.left(size));
      cut.close();
      QVERIFY(!BaseFileReader::open(cut.fileName().toStdString()).isOk());
    }
    const auto none = BaseFileReader::open(folder.filePath("none").toStdString());
    QVERIFY(!none.isOk());
    QVERIFY2(none.error().message.ends_with(": No such file or directory"), none.error().message.c_str());
    const auto nowhere = BaseFileWriter::create(folder.filePath("none/base").toStdString(), {});
    QVERIFY(!nowhere.isOk());
    QVERIFY2(nowhere.error().message.ends_with(": No such file or directory"), nowhere.error().message.c_str());
  }
};

QTEST_GUILESS_MAIN(DivergenceTest)
#include "tst_divergence.moc"
