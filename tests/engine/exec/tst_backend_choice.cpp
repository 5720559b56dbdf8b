// Which recipe runs: the one asked for, the environment's, or the best; never silently another.
// labels: pure
#include <vector>

#include <QtTest>

#include "engine/exec/backend_choice.h"

using namespace engine;
using namespace engine::exec;
using kernels::cpu::Isa;

class TestBackendChoice : public QObject {
  Q_OBJECT

 private:
  const std::vector<Isa> m_both = {Isa::Avx2, Isa::Avx512Vnni};

 private slots:

  void autoTakesTheBestSupported() {
    const auto choice = chooseBackend(IsaKind::Auto, nullptr, m_both);
    QVERIFY(choice->cpuIsa == Isa::Avx512Vnni);
    QVERIFY(choice->note.empty());
  }

  void tilesOfBf16ComeFirstAndThoseOfInt8Next() {
    std::vector<Isa> supported = {Isa::Amx, Isa::AmxBf16, Isa::Avx512Vnni, Isa::AvxVnni, Isa::Avx2};
    QVERIFY(chooseBackend(IsaKind::Auto, nullptr, supported)->cpuIsa == Isa::AmxBf16);
    std::erase(supported, Isa::AmxBf16);  // a processor without arithmetic of f16
    QVERIFY(chooseBackend(IsaKind::Auto, nullptr, supported)->cpuIsa == Isa::Amx);
  }

  void withoutAvx2TheReferenceRunsAndSaysSo() {
    const auto choice = chooseBackend(IsaKind::Auto, nullptr, {});
    QVERIFY(!choice->cpuIsa.has_value());
    QVERIFY(choice->note.find("AVX2") != std::string::npos);
  }

  void theEnvironmentDecidesWhereNobodyAsked() {
    QVERIFY(chooseBackend(IsaKind::Auto, "avx2", m_both)->cpuIsa == Isa::Avx2);
    QVERIFY(!chooseBackend(IsaKind::Auto, "reference", m_both)->cpuIsa.has_value());
    QVERIFY(chooseBackend(IsaKind::Avx512Vnni, "avx2", m_both)->cpuIsa == Isa::Avx512Vnni);
    QVERIFY(chooseBackend(IsaKind::Auto, "", m_both)->cpuIsa == Isa::Avx512Vnni);
    const auto unknown = chooseBackend(IsaKind::Auto, "sse9", m_both);
    QVERIFY(!unknown.isOk());
    QVERIFY(unknown.error().message.find("sse9") != std::string::npos);
  }

  void aRecipeAskedForIsNotExchanged() {
    const auto choice = chooseBackend(IsaKind::Amx, nullptr, m_both);
    QVERIFY(!choice.isOk());
    QCOMPARE(choice.error().code, ErrorCode::Unsupported);
    QVERIFY(choice.error().message.find("amx") != std::string::npos);
    QVERIFY(choice.error().message.find("avx512vnni") != std::string::npos);
    QVERIFY(chooseBackend(IsaKind::Reference, nullptr, m_both)->note.empty());
    QVERIFY(chooseBackend(IsaKind::Avx2, nullptr, m_both)->isAsked);
    QVERIFY(chooseBackend(IsaKind::Auto, "avx2", m_both)->isAsked);
    QVERIFY(!chooseBackend(IsaKind::Auto, nullptr, m_both)->isAsked);
  }

  void kvIsBf16ButF32WithTheReference() {
    QVERIFY(chooseKvType(KvDType::Default, {Isa::Avx2, "", false}) == kernels::KvType::BF16);
    QVERIFY(chooseKvType(KvDType::Default, {}) == kernels::KvType::F32);
    QVERIFY(chooseKvType(KvDType::F16, {}) == kernels::KvType::F16);
    QVERIFY(chooseKvType(KvDType::Fp8, {Isa::Avx2, "", false}) == kernels::KvType::Fp8E4M3);
    QVERIFY(chooseKvType(KvDType::Int8, {}) == kernels::KvType::Int8);
    QVERIFY(chooseKvType(KvDType::Int4, {Isa::Avx2, "", false}) == kernels::KvType::Int4);
  }
};

QTEST_GUILESS_MAIN(TestBackendChoice)
#include "tst_backend_choice.moc"
