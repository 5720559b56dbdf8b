// While a model is loaded, its file does not stay in memory beside what was made of it.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <QTemporaryDir>
#include <QtTest>

#include "engine/service/gguf_model_provider.h"
#include "kernels/core/ops.h"
#include "tests/support/resident_file.h"
#include "tests/support/tiny_model.h"

using namespace engine;
using namespace engine::service;
using test_support::residentBytes;

namespace {

// What one stage of a load said, and how much of the file was in memory then.
struct Look {
  std::string stage;
  double fraction = 0;
  std::size_t resident = 0;
};

}  // namespace

class TestLoadMemory : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir m_folder;
  std::string m_path, m_kept;
  std::size_t m_fileBytes = 0;

  std::vector<Look> load(const std::string& packedFolder, bool withDraft) const {
    EngineConfig config;
    config.load.modelPath = m_path;
    config.load.threads = 2;
    config.load.kvBlocks = 4;
    if (withDraft) config.load.draftModelPath = m_path;
    std::vector<Look> looks;
    LoadObserver observer;
    observer.progress = [&](const std::string& stage, double fraction, std::int64_t) {
      looks.push_back({stage, fraction, residentBytes(m_path)});
    };
    GgufModelProvider provider(packedFolder);
    const auto opened = provider.open(config, observer);
    if (!opened) return {};
    const auto loaded = (*opened)->load(config, observer);
    if (!loaded) return {};
    looks.push_back({"loaded", 1.0, residentBytes(m_path)});
    return looks;
  }

  void checkLittleIsThere(const std::vector<Look>& looks, double from = 0.0) const {
    QVERIFY(looks.size() > 5);
    double packed = 0;
    for (const Look& look : looks) {
      if (look.stage == "reading" || (look.stage == "packing" && look.fraction < from)) continue;
      const std::string at = look.stage + " " + std::to_string(look.fraction) + ": " +
                             std::to_string(look.resident) + " of " + std::to_string(m_fileBytes);
      QVERIFY2(look.resident < m_fileBytes / 8, at.c_str());
      if (look.stage == "packing") packed = std::max(packed, look.fraction);
    }
    QCOMPARE(packed, 1.0);
    QCOMPARE(looks.back().stage, std::string("loaded"));
    QCOMPARE(looks.back().resident, std::size_t{0});
  }

 private slots:

  void initTestCase() {
    if (kernels::cpu::supportedIsas().empty()) {
      QSKIP("this processor has no recipe that packs: weights are used from the file itself");
    }
    QVERIFY(m_folder.isValid());
    const std::string folder = QFileInfo(m_folder.path()).canonicalFilePath().toStdString();
    m_path = folder + "/model.gguf";
    m_kept = folder + "/kept";
    test_support::TinyModelSpec spec;
    spec.layers = 8;
    spec.hidden = spec.ffn = 512;
    spec.heads = spec.kvHeads = 8;
    spec.headDim = 64;
    test_support::writeTinyModel(spec, m_path);
    m_fileBytes = std::filesystem::file_size(m_path);
    QVERIFY(m_fileBytes > (std::size_t{50} << 20));
  }

  void packing() { checkLittleIsThere(load({}, false)); }

  void packingBesideADraftModel() { checkLittleIsThere(load({}, true)); }

  // First they are written, then found. Before either, every byte of the file is read once for the
  // name of the packed weights, which take no memory yet.
  void keepingAndReadingPackedWeights() {
    constexpr double kNamed = 0.31;
    checkLittleIsThere(load(m_kept, false), kNamed);
    QVERIFY(!std::filesystem::is_empty(m_kept));
    checkLittleIsThere(load(m_kept, false), kNamed);
  }
};

QTEST_GUILESS_MAIN(TestLoadMemory)
#include "tst_load_memory.moc"
