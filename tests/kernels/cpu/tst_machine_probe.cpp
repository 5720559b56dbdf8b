// The yardsticks of a bench lie where a computer's can lie.
#include <QtTest/QtTest>

#include <algorithm>

#include "kernels/cpu/machine_probe.h"

using namespace kernels::cpu;

class TestMachineProbe : public QObject {
  Q_OBJECT

 private slots:
  void memoryIsReadAtAPlausibleSpeed();
  void int8PeaksArePlausibleAndWiderIsNotSlower();
  void whatCannotRunIsNotMeasured();
};

void TestMachineProbe::memoryIsReadAtAPlausibleSpeed() {
  const auto bytesPerSecond = measureReadBandwidth(2);
  QVERIFY(bytesPerSecond.has_value());
  QVERIFY2(*bytesPerSecond > 2e8 && *bytesPerSecond < 1e13,
           qPrintable(QString::number(*bytesPerSecond)));
}

void TestMachineProbe::int8PeaksArePlausibleAndWiderIsNotSlower() {
  const auto isas = supportedIsas();
  if (isas.empty()) QSKIP("this processor has none of our vector kernels");
  double narrow = 0, wide = 0;
  for (const Isa isa : isas) {
    const auto peak = measureInt8Peak(isa, 1);
    if (!peak) continue;
    QVERIFY2(*peak > 1e9 && *peak < 1e14, qPrintable(QString::number(*peak)));
    (isa >= Isa::Avx512Vnni ? wide : narrow) = *peak;
  }
  // 64 products an instruction against 32; others may hold up either measurement
  if (narrow > 0 && wide > 0) QVERIFY(wide > 0.4 * narrow);
}

void TestMachineProbe::whatCannotRunIsNotMeasured() {
  const auto isas = supportedIsas();
  for (const Isa isa : {Isa::Avx2, Isa::AvxVnni, Isa::Avx512Vnni, Isa::Amx}) {
    const bool canRun = std::find(isas.begin(), isas.end(), isa) != isas.end();
    QCOMPARE(measureInt8Peak(isa, 1).has_value(), canRun);
  }
}

QTEST_GUILESS_MAIN(TestMachineProbe)
#include "tst_machine_probe.moc"
