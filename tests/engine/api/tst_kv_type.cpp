// labels: pure
#include <QTest>

#include "engine/api/kv_type.h"

using namespace engine;

class KvTypeTest : public QObject {
  Q_OBJECT

 private slots:
  void aTypeHasOneNameOnEachSide() {
    for (const KvDType dtype : {KvDType::F32, KvDType::F16, KvDType::BF16, KvDType::Fp8,
                                KvDType::Int8, KvDType::Int4}) {
      QVERIFY(kvDTypeOf(kvTypeOf(dtype).value()) == dtype);
    }
    QVERIFY(!kvTypeOf(KvDType::Default).has_value());
  }
};

QTEST_GUILESS_MAIN(KvTypeTest)
#include "tst_kv_type.moc"
