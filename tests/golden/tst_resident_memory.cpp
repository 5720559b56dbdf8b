// What the memory estimate promises is what is then resident: within 10 %, each model in a process of its own.
// labels: slow
#include <QCoreApplication>
#include <QFile>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>
#include <cstdio>

#include "engine/service/engine_service.h"
#include "engine/service/gguf_model_provider.h"
#include "tests/support/engine_client.h"
#include "tests/support/service_bench.h"
#include "tests/support/tiny_model.h"

using namespace engine;
using namespace engine::service;
using namespace test_support;

namespace {

constexpr const char* kMeasureFlag = "--measure";
constexpr std::int64_t kKvBlocks = 64;

std::int64_t residentBytes() {
  QFile status("/proc/self/status");
  if (!status.open(QIODevice::ReadOnly)) return 0;
  for (const QByteArray& line : status.readAll().split('\n')) {
    if (line.startsWith("VmRSS:")) return line.mid(6).trimmed().split(' ')[0].toLongLong() * 1024;
  }
  return 0;
}

// Loads, fills nearly all of the pool with one answer, prints "ESTIMATE GROWTH" in bytes.
int measure(const std::string& path) {
  const std::int64_t before = residentBytes();
  EngineClient client(createEngineService({std::make_shared<GgufModelProvider>(), nullptr}, {}));
  EngineConfig config;
  config.load.modelPath = path;
  config.load.kvBlocks = kKvBlocks;
  config.load.threads = 2;
  client.send(Query{QueryId(1), EstimateQuery{config.load}});
  if (!client.waitFor([&] { return client.answers.contains(QueryId(1)); })) return 1;
  const auto* estimate = std::get_if<MemoryEstimate>(&client.answers[QueryId(1)].answer);
  if (estimate == nullptr || !client.load(config)) return 1;
  RequestSpec spec;
  spec.prompt = TokenPrompt{std::vector<TokenId>(kKvBlocks * 16 - 20, 100)};
  spec.sampling = greedy(8);
  spec.sampling.ignoreEos = true;
  client.submit(spec);
  if (!client.waitForAll()) return 1;
  std::printf("%lld %lld\n", static_cast<long long>(estimate->totalBytes),
              static_cast<long long>(residentBytes() - before));
  return 0;
}

}  // namespace

class ResidentMemoryTest : public QObject {
  Q_OBJECT

 private slots:
  void theEstimateIsWhatIsThenResident_data();
  void theEstimateIsWhatIsThenResident();

 private:
  QTemporaryDir m_folder;
};

void ResidentMemoryTest::theEstimateIsWhatIsThenResident_data() {
  QTest::addColumn<QString>("path");
  TinyModelSpec spec;  // 60 million parameters, an embedding of its own
  spec.layers = 4;
  spec.hidden = 1024;
  spec.heads = 16;
  spec.kvHeads = 4;
  spec.headDim = 64;
  spec.ffn = 3072;
  spec.context = 4096;
  spec.vocabSize = 4096;
  spec.type = kernels::DType::Q8_0;
  spec.tiedOutput = false;
  const QString path = m_folder.filePath("generated.gguf");
  writeTinyModel(spec, path.toStdString());
  QTest::newRow("generated") << path;
  for (const char* name : {"SmolLM2-135M-Instruct.Q4_1.gguf", "gemma3-270m-q4_k_m.gguf", "qwen2.5-coder-0.5b.gguf"}) {
    QTest::newRow(name) << qEnvironmentVariable("TESSERA_MODELS") + "/" + name;
  }
}

void ResidentMemoryTest::theEstimateIsWhatIsThenResident() {
  QFETCH(QString, path);
  if (!QFile::exists(path)) QSKIP("the model is not in $TESSERA_MODELS");
  QProcess child;
  child.setProcessChannelMode(QProcess::ForwardedErrorChannel);
  child.start(QCoreApplication::applicationFilePath(), {kMeasureFlag, path});
  QVERIFY(child.waitForFinished(120'000));
  QCOMPARE(child.exitCode(), 0);
  const QByteArrayList words = child.readAllStandardOutput().trimmed().split(' ');
  QCOMPARE(words.size(), 2);
  const double estimate = words[0].toDouble(), growth = words[1].toDouble();
  qInfo("estimate %.1f MB, resident %.1f MB: %+.1f %%", estimate / 1e6, growth / 1e6, 100 * (estimate / growth - 1));
  QVERIFY(estimate <= 1.1 * growth && growth <= 1.1 * estimate);
}

int main(int argc, char** argv) {
  QCoreApplication app(argc, argv);
  if (argc == 3 && qstrcmp(argv[1], kMeasureFlag) == 0) return measure(argv[2]);
  ResidentMemoryTest test;
  return QTest::qExec(&test, argc, argv);
}

#include "tst_resident_memory.moc"
