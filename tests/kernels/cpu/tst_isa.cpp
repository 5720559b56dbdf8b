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
  words.leaf7Edx = 1u << 22 | 1u << 23 | 1u << 24 | 1u << 25;
  words.leaf7Sub1Eax = 1u << 4 | 1u << 5;
  words.enabledState = 0x600E7;
  return words;
}

}  // namespace

class TestIsa : public QObject {
  Q_OBJECT
 private slots:
  void aCompleteProcessorRunsAllBestFirst();
  void eachMissingBitOfAvx2LeavesNothing_data();
  void eachMissingBitOfAvx2LeavesNothing();
  void eachMissingBitOfAvx512LeavesAvxVnni_data();
  void eachMissingBitOfAvx512LeavesAvxVnni();
  void amxNeedsItsBitsAndItsState();
  void avxVnniNeedsNoAvx512AndAvx2NoAvxVnni();
  void everySetHasAName();
  void aSystemThatDoesNotSaveWideRegistersIsBelieved();
  void aProcessorWithoutAnythingRunsNothing();
  void thisMachineAgreesWithTheCompilersOwnCheck();
};

void TestIsa::aCompleteProcessorRunsAllBestFirst() {
  QCOMPARE(isasOf(completeProcessor()),
           (std::vector<Isa>{Isa::Amx, Isa::AmxBf16, Isa::Avx512Vnni, Isa::AvxVnni, Isa::Avx2}));
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

void TestIsa::eachMissingBitOfAvx512LeavesAvxVnni_data() {
  QTest::addColumn<int>("word");
  QTest::addColumn<int>("bit");
  for (int bit : {16, 17, 30, 31}) QTest::addRow("leaf 7 ebx %d", bit) << 0 << bit;
  for (int bit : {1, 11}) QTest::addRow("leaf 7 ecx %d", bit) << 1 << bit;
}

void TestIsa::eachMissingBitOfAvx512LeavesAvxVnni() {
  QFETCH(int, word);
  QFETCH(int, bit);
  CpuFeatureWords words = completeProcessor();
  std::uint32_t* registers[] = {&words.leaf7Ebx, &words.leaf7Ecx};
  *registers[word] &= ~(1u << bit);
  QCOMPARE(isasOf(words), (std::vector<Isa>{Isa::AvxVnni, Isa::Avx2}));
}

void TestIsa::amxNeedsItsBitsAndItsState() {
  const std::vector<Isa> without = {Isa::Avx512Vnni, Isa::AvxVnni, Isa::Avx2};
  for (const int bit : {22, 24, 25}) {
    CpuFeatureWords words = completeProcessor();
    words.leaf7Edx &= ~(1u << bit);
    QCOMPARE(isasOf(words), without);
  }
  CpuFeatureWords noPairDots = completeProcessor();
  noPairDots.leaf7Sub1Eax &= ~(1u << 5);
  QCOMPARE(isasOf(noPairDots), without);
  CpuFeatureWords plain = completeProcessor();
  plain.leaf7Edx &= ~(1u << 23);  // no arithmetic of f16
  QCOMPARE(isasOf(plain), (std::vector<Isa>{Isa::Amx, Isa::Avx512Vnni, Isa::AvxVnni, Isa::Avx2}));
  for (const int bit : {17, 18}) {
    CpuFeatureWords words = completeProcessor();
    words.enabledState &= ~(std::uint64_t{1} << bit);
    QCOMPARE(isasOf(words), without);
  }
}

void TestIsa::avxVnniNeedsNoAvx512AndAvx2NoAvxVnni() {
  CpuFeatureWords words = completeProcessor();
  words.leaf7Ebx = 1u << 5 | 1u << 8;
  words.leaf7Ecx = 0;
  words.enabledState = 0x7;
  QCOMPARE(isasOf(words), (std::vector<Isa>{Isa::AvxVnni, Isa::Avx2}));
  words.leaf7Sub1Eax = 0;
  QCOMPARE(isasOf(words), std::vector<Isa>{Isa::Avx2});
}

void TestIsa::everySetHasAName() {
  QCOMPARE(isaName(Isa::Avx2), "avx2");
  QCOMPARE(isaName(Isa::AvxVnni), "avxvnni");
  QCOMPARE(isaName(Isa::Avx512Vnni), "avx512vnni");
  QCOMPARE(isaName(Isa::Amx), "amx");
  QCOMPARE(isaName(Isa::AmxBf16), "amx-bf16");
}

void TestIsa::aSystemThatDoesNotSaveWideRegistersIsBelieved() {
  CpuFeatureWords words = completeProcessor();
  words.enabledState = 0x7;  // ymm, but neither masks nor zmm
  QCOMPARE(isasOf(words), (std::vector<Isa>{Isa::AvxVnni, Isa::Avx2}));
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
  // all that the processor has, but for tiles that the system does not let this process use
  std::vector<Isa> able = isasOf(readCpuFeatures());
  if (!has(Isa::Amx)) {
    std::erase_if(able, [](Isa isa) { return isa == Isa::Amx || isa == Isa::AmxBf16; });
  }
  QCOMPARE(isas, able);
}

QTEST_GUILESS_MAIN(TestIsa)
#include "tst_isa.moc"
