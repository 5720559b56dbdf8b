// labels: threads
#include <QtTest/QtTest>

#include <atomic>
#include <chrono>
#include <thread>

#include "engine/base/pace.h"

using engine::Pace;
using std::chrono::nanoseconds;

namespace {

constexpr Pace::Beat kAtEveryLook{nanoseconds(0), nanoseconds(0)};

void breathe(int times) {
  for (int i = 0; i < times; ++i) Pace::breathe();
}

}  // namespace

class TestPace : public QObject {
  Q_OBJECT

 private slots:

  void workRestsWhenItsPieceIsOver() {
    const std::atomic<bool> isWanted{true};
    const Pace pace(isWanted, kAtEveryLook);
    breathe(15);
    QCOMPARE(pace.numRests(), 0);  // it has not looked at the clock yet
    breathe(1);
    QCOMPARE(pace.numRests(), 1);
    breathe(160);
    QCOMPARE(pace.numRests(), 11);
  }

  void workRestsForAsLongAsItsBeatSays() {
    const std::atomic<bool> isWanted{true};
    const Pace pace(isWanted, {nanoseconds(0), std::chrono::milliseconds(2)});
    const auto begin = std::chrono::steady_clock::now();
    breathe(16 * 5);
    QVERIFY(std::chrono::steady_clock::now() - begin >= std::chrono::milliseconds(10));
  }

  void aPieceIsNotOverBeforeItsTime() {
    const std::atomic<bool> isWanted{true};
    const Pace pace(isWanted, {std::chrono::hours(1), std::chrono::hours(1)});
    breathe(1000);
    QCOMPARE(pace.numRests(), 0);
  }

  void nobodyRestsUnlessItIsWanted() {
    std::atomic<bool> isWanted{false};
    const Pace pace(isWanted, kAtEveryLook);
    breathe(100);
    QCOMPARE(pace.numRests(), 0);
    isWanted = true;
    breathe(100);
    QVERIFY(pace.numRests() > 0);
  }

  void aPaceIsOfItsThreadAndOfItsTime() {
    const std::atomic<bool> isWanted{true};
    {
      const Pace pace(isWanted, kAtEveryLook);
      std::thread([] { breathe(100); }).join();
      QCOMPARE(pace.numRests(), 0);
    }
    breathe(100);  // of no pace: must not touch the one that is gone
    const Pace next(isWanted, kAtEveryLook);
    QCOMPARE(next.numRests(), 0);
  }
};

QTEST_GUILESS_MAIN(TestPace)
#include "tst_pace.moc"
