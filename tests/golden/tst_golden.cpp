// labels: golden slow
// Three real models against float32 arithmetic on the same weights (tests/golden/data: token ids, mean
// NLL, top-20 log-probabilities, greedy continuations with the margin at each step). Models are looked
// for in $TESSERA_MODELS; what is not there is skipped by name.
#include <QFile>
#include <QTest>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/exec/model_executor.h"
#include "engine/exec/sequence_scorer.h"
#include "engine/model/gguf_weight_source.h"
#include "engine/sample/candidate_set.h"
#include "engine/sample/column_tiles.h"
#include "engine/text/tokenizer.h"
#include "kernels/core/ops.h"

using namespace engine;
using nlohmann::json;

namespace {

// How near a recipe has to come.
struct Tolerance {
  double nllShare, longNllShare, topLogprob, decidedMargin;
};

constexpr Tolerance kReference = {0.001, 0.001, 0.02, 0.05};
constexpr Tolerance kFast = {0.015, 0.005, 0.3, 0.3};

struct Engine {
  std::unique_ptr<text::Tokenizer> tokenizer;
  std::unique_ptr<exec::ModelExecutor> executor;
};

Result<Engine> openEngine(const std::string& path, std::optional<kernels::cpu::Isa> isa) {
  std::shared_ptr<const model::WeightSource> source = TRY(model::GgufWeightSource::open(path));
  Engine opened;
  opened.tokenizer = TRY(text::createTokenizer(TRY(source->vocabulary())));
  const model::ModelConfig config = TRY(source->config());
  exec::ModelExecutorOptions options;
  options.backend.cpuIsa = isa;
  options.kvType = isa ? kernels::KvType::BF16 : kernels::KvType::F32;
  options.numBlocks = 64;
  options.threads = 2;
  opened.executor = TRY(exec::ModelExecutor::create(source, config, options));
  return opened;
}

// What one pass over prompt and continuation showed.
struct Observed {
  double meanNll = 0;
  std::vector<float> lastPromptRow;
  std::vector<TokenId> argmax;  // after the last prompt token, then after each continued one
  double logSumExp = 0;
};

Result<Observed> observe(exec::Executor& executor, std::vector<TokenId> ids, const std::vector<TokenId>& greedy) {
  const auto numPrompt = static_cast<std::int64_t>(ids.size());
  ids.insert(ids.end(), greedy.begin(), greedy.end() - 1);
  Observed observed;
  double sum = 0;
  const auto onRow = [&](std::int64_t position, const float* row) -> Result<void> {
    const std::span<const float> logits(row, static_cast<std::size_t>(executor.vocabSize()));
    const sample::RowSummary summary = TRY(sample::summarizeRow(logits));
    if (position + 1 < numPrompt) {
      sum += summary.logSumExp - double{logits[static_cast<std::size_t>(ids[static_cast<std::size_t>(position) + 1])]};
      return {};
    }
    observed.argmax.push_back(summary.argmax);
    if (position + 1 == numPrompt) {
      observed.lastPromptRow.assign(logits.begin(), logits.end());
      observed.logSumExp = summary.logSumExp;
    }
    return {};
  };
  TRY_VOID(exec::scoreSequence(executor, ids, 0, nullptr, onRow));
  observed.meanNll = sum / static_cast<double>(numPrompt - 1);
  return observed;
}

json readGolden(const QString& name) {
  const QString source = qEnvironmentVariable("TESSERA_SOURCE_DIR");
  std::ifstream file((source + "/tests/golden/data/" + name + ".json").toStdString());
  return json::parse(file);
}

}  // namespace

class GoldenTest : public QObject {
  Q_OBJECT

 private:
  void comparePrompt(Engine& opened, const std::string& name, const json& golden, const Tolerance& tolerance) {
    const auto ids = golden.at("ids").get<std::vector<TokenId>>();
    const auto encoded = opened.tokenizer->encodeRaw(golden.at("text").get<std::string>(), text::SpecialTokens::AddAndMatch);
    QVERIFY2(encoded.isOk() && *encoded == ids, name.c_str());

    const auto greedy = golden.at("greedy").get<std::vector<TokenId>>();
    const auto margins = golden.at("greedy_margin").get<std::vector<double>>();
    const auto observed = observe(*opened.executor, ids, greedy);
    QVERIFY2(observed.isOk(), observed.isOk() ? "" : observed.error().message.c_str());

    const double nll = golden.at("mean_nll").get<double>();
    const double share = name == "licence-600" ? tolerance.longNllShare : tolerance.nllShare;
    const double nllError = std::abs(observed->meanNll - nll) / nll;
    double worstTop = 0;
    for (std::size_t i = 0; i < 5; ++i) {
      const auto id = golden.at("last_top20")[i][0].get<std::size_t>();
      const double expected = golden.at("last_top20")[i][1].get<double>();
      worstTop = std::max(worstTop, std::abs(double{observed->lastPromptRow[id]} - observed->logSumExp - expected));
    }
    int flips = 0;
    double widestFlip = 0;
    for (std::size_t i = 0; i < greedy.size(); ++i) {
      if (observed->argmax[i] == greedy[i]) continue;
      ++flips;
      widestFlip = std::max(widestFlip, margins[i]);
    }
    qInfo("%-12s nll %.6f (off by %.3f %%), top-5 off by %.4f, %d flips, widest margin %.4f", name.c_str(),
          observed->meanNll, nllError * 100, worstTop, flips, widestFlip);
    QVERIFY2(nllError <= share, name.c_str());
    QVERIFY2(worstTop <= tolerance.topLogprob, name.c_str());
    QVERIFY2(widestFlip < tolerance.decidedMargin, name.c_str());
  }

 private slots:
  void everyRecipeComesNearFloatArithmetic_data() {
    QTest::addColumn<QString>("golden");
    QTest::addColumn<int>("isa");  // -1: the reference recipe
    for (const char* name : {"smollm2-135m", "gemma3-270m", "qwen2.5-coder-0.5b"}) {
      QTest::addRow("%s reference", name) << name << -1;
      for (kernels::cpu::Isa isa : kernels::cpu::supportedIsas()) {
        QTest::addRow("%s cpu recipe %d", name, static_cast<int>(isa)) << name << static_cast<int>(isa);
      }
    }
  }

  void everyRecipeComesNearFloatArithmetic() {
    QFETCH(QString, golden);
    QFETCH(int, isa);
    const json document = readGolden(golden);
    const std::string path = qEnvironmentVariable("TESSERA_MODELS").toStdString() + "/" + document.at("model").get<std::string>();
    if (!QFile::exists(QString::fromStdString(path))) {
      QSKIP(qPrintable(QStringLiteral("no %1 in $TESSERA_MODELS").arg(QString::fromStdString(document.at("model")))));
    }
    auto opened = openEngine(path, isa < 0 ? std::nullopt : std::optional(static_cast<kernels::cpu::Isa>(isa)));
    QVERIFY2(opened.isOk(), opened.isOk() ? "" : opened.error().message.c_str());
    for (const auto& [name, prompt] : document.at("prompts").items()) {
      comparePrompt(*opened, name, prompt, isa < 0 ? kReference : kFast);
    }
  }
};

QTEST_GUILESS_MAIN(GoldenTest)
#include "tst_golden.moc"
