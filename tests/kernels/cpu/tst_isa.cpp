// labels: pure
#include "kernels/cpu/isa.h"

#include <QtTest>

using namespace kernels::cpu;

namespace {

// A processor with everything that we use, all of it enabled.
CpuFeatureWords completeProcessor() {
  CpuFeatureWords words;
  words.leaf1Ecx = 1u << 12 | 1u << 27 | 1u << 28 | 1u << 29;
  words.leaf7Ebx = 1u << 5 | 1u << 8 | 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31;
  words.leaf7Ecx = 1u << 1 | 1u << 11;
  words.leaf7Sub1Eax = 1u << 5;
  words.enabledState = 0xE7;
  return words;
}

}  // namespace

class TestIsa : public QObject {
  Q_OBJECT
 private slots:
  void aCompleteProcessorRunsBothBestFirst();
  void eachMissingBitOfAvx2LeavesNothing_data();
  void eachMissingBitOfAvx2LeavesNothing();
  void eachMissingBitOfAvx512LeavesAvx2_data();
  void eachMissingBitOfAvx512LeavesAvx2();
  void aSystemThatDoesNotSaveWideRegistersIsBelieved();
  void aProcessorWithoutAnythingRunsNothing();
  void thisMachineAgreesWithTheCompilersOwnCheck();
};

void TestIsa::aCompleteProcessorRunsBothBestFirst() {
  QCOMPARE(isasOf(completeProcessor()), (std::vector<Isa>{Isa::Avx512Vnni, Isa::Avx2}));
}

void TestIsa::eachMissingBitOfAvx2LeavesNothing_data() {
  QTest::addColumn<int>("bit1");
  QTest::addColumn<int>("bit7");
  QTest::newRow("fma") << 12 << -1;
  QTest::newRow("osxsave") << 27 << -1;
  QTest::newRow("avx") << 28 << -1;
  QTest::newRow("f16c") << 29 << -1;
  QTest::newRow("avx2") << -1 << 5;
  QTest::newRow("bmi2") << -1 << 8;
}

void TestIsa::eachMissingBitOfAvx2LeavesNothing() {
  QFETCH(int, bit1);
  QFETCH(int, bit7);
  CpuFeatureWords words = completeProcessor();
  if (bit1 >= 0) words.leaf1Ecx &= ~(1u << bit1);
  if (bit7 >= 0) words.leaf7Ebx &= ~(1u << bit7);
  QVERIFY(isasOf(words).empty());
}

void TestIsa::eachMissingBitOfAvx512LeavesAvx2_data() {
  QTest::addColumn<int>("word");
  QTest::addColumn<int>("bit");
  for (int bit : {16, 17, 30, 31}) QTest::addRow("leaf 7 ebx %d", bit) << 0 << bit;
  for (int bit : {1, 11}) QTest::addRow("leaf 7 ecx %d", bit) << 1 << bit;
  QTest::addRow("leaf 7.1 eax 5") << 2 << 5;
}

void TestIsa::eachMissingBitOfAvx512LeavesAvx2() {
  QFETCH(int, word);
  QFETCH(int, bit);
  CpuFeatureWords words = completeProcessor();
  std::uint32_t* registers[] = {&words.leaf7Ebx, &words.leaf7Ecx, &words.leaf7Sub1Eax};
  *registers[word] &= ~(1u << bit);
  QCOMPARE(isasOf(words), std::vector<Isa>{Isa::Avx2});
}

void TestIsa::aSystemThatDoesNotSaveWideRegistersIsBelieved() {
  CpuFeatureWords words = completeProcessor();
  words.enabledState = 0x7;  // ymm, but neither masks nor zmm
  QCOMPARE(isasOf(words), std::vector<Isa>{Isa::Avx2});
  words.enabledState = 0x3;  // xmm only
  QVERIFY(isasOf(words).empty());
}

void TestIsa::aProcessorWithoutAnythingRunsNothing() {
  QVERIFY(isasOf({}).empty());
}

void TestIsa::thisMachineAgreesWithTheCompilersOwnCheck() {
  const std::vector<Isa> isas(supportedIsas().begin(), supportedIsas().end());
  const auto has = [&](Isa isa) { return std::count(isas.begin(), isas.end(), isa) == 1; };
  if (has(Isa::Avx2)) QVERIFY(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
  if (has(Isa::Avx512Vnni)) {
    QVERIFY(__builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512vbmi"));
  }
  QCOMPARE(isas, isasOf(readCpuFeatures()));
}

QTEST_GUILESS_MAIN(TestIsa)
#include "tst_isa.moc"
