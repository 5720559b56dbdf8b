// labels: threads timed
#include "kernels/cpu/thread_pool.h"

#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

#include <sched.h>

#include <QtTest>

using kernels::cpu::ThreadPool;

namespace {

// Made-up clocks: one that each thread moves by itself, and one that all see.
thread_local std::int64_t t_ownNs = 0;
std::atomic<std::int64_t> g_commonNs{0};
std::atomic<int> g_readings{0};

std::int64_t ownNs() {
  return t_ownNs;
}

std::int64_t commonNs() {
  ++g_readings;
  return g_commonNs;
}

}  // namespace

class ThreadPoolTest : public QObject {
  Q_OBJECT

 private slots:

  void everyItemRunsOnce_data() { threadCounts(); }

  void everyItemRunsOnce() {
    QFETCH(int, threads);
    ThreadPool pool(threads);
    QCOMPARE(pool.numThreads(), threads);
    for (const int numItems : {0, 1, 2, 3, 7, 64, 1000}) {
      std::vector<int> seen(static_cast<std::size_t>(numItems), 0);
      pool.run(numItems, [&](int item, int thread) {
        QVERIFY(thread >= 0 && thread < threads);
        ++seen[static_cast<std::size_t>(item)];
      });
      for (const int count : seen) QCOMPARE(count, 1);
    }
  }

  void rangesCoverTheCountAtMultiplesOfTheGrain_data() { threadCounts(); }

  void rangesCoverTheCountAtMultiplesOfTheGrain() {
    QFETCH(int, threads);
    ThreadPool pool(threads);
    for (const int count : {0, 1, 5, 32, 33, 1000}) {
      for (const int grain : {1, 8, 32}) {
        std::vector<int> seen(static_cast<std::size_t>(count), 0);
        pool.runRanges(count, grain, [&](int begin, int end, int) {
          QVERIFY(begin < end && begin % grain == 0 && (end == count || end % grain == 0));
          for (int i = begin; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
        });
        QCOMPARE(std::accumulate(seen.begin(), seen.end(), 0), count);
      }
    }
  }

  // Many short jobs with plain (not atomic) data in between: a lost wake-up hangs here, an item of
  // an older job or a missing happens-before shows as a wrong sum (or in the thread sanitizer).
  void manyShortJobsHandOverTheirData() {
    ThreadPool pool(3);
    std::vector<long> parts(16, 0);
    long expected = 0;
    for (int round = 0; round < 20000; ++round) {
      const int numItems = 2 + round % 15;
      pool.run(numItems, [&](int item, int) { parts[static_cast<std::size_t>(item)] += round; });
      expected += static_cast<long>(round) * numItems;
    }
    QCOMPARE(std::accumulate(parts.begin(), parts.end(), 0l), expected);
  }

  // Plain data again: an item that begins before the stage in front of it is over reads an older sum.
  void everyStageSeesAllOfTheOneBefore_data() { threadCounts(); }

  void everyStageSeesAllOfTheOneBefore() {
    QFETCH(int, threads);
    ThreadPool pool(threads);
    std::vector<long> first(40), second(40), third(40);
    for (int round = 0; round < 3000; ++round) {
      const int numFirst = round % 7, numSecond = 1 + round % 40, numThird = round % 3;
      const auto sum = [](const std::vector<long>& items, int count) {
        return std::accumulate(items.begin(), items.begin() + count, 0l);
      };
      const auto fill = [&](int item, int) { first[static_cast<std::size_t>(item)] = round + item; };
      const auto add = [&](int item, int) {
        second[static_cast<std::size_t>(item)] = sum(first, numFirst) + item;
      };
      const auto addAgain = [&](int item, int) {
        third[static_cast<std::size_t>(item)] = sum(second, numSecond);
      };
      pool.run({{numFirst, fill}, {numSecond, add}, {numThird, addAgain}});
      const long ofFirst = numFirst * round + numFirst * (numFirst - 1) / 2;
      const long ofSecond = numSecond * ofFirst + numSecond * (numSecond - 1) / 2;
      for (int i = 0; i < numThird; ++i) QCOMPARE(third[static_cast<std::size_t>(i)], ofSecond);
      QCOMPARE(sum(second, numSecond), ofSecond);
    }
  }

  // A thread that is held up in an item makes the others sleep until its stage is over.
  void aStageWaitsForAThreadThatIsHeldUp() {
    ThreadPool pool(3);
    for (int slowThread = 0; slowThread < 3; ++slowThread) {
      std::atomic<int> arrived{0}, numEnded{0}, numEarly{0};
      const auto meet = [&](int, int thread) {  // each thread has one
        arrived.fetch_add(1);
        while (arrived.load() < 3) std::this_thread::yield();
        if (thread == slowThread) std::this_thread::sleep_for(std::chrono::milliseconds(3));
        numEnded.fetch_add(1);
      };
      const auto look = [&](int, int) { numEarly += numEnded.load() != 3; };
      pool.run({{3, meet}, {12, look}, {12, look}});
      QCOMPARE(numEarly.load(), 0);
    }
  }

  // More than a share's word can count, alone and in a stage.
  void aStageMayHaveMillionsOfItems() {
    ThreadPool pool(2);
    constexpr int kMany = (1 << 18) * 2 + 5;
    std::vector<int> seen(kMany, 0);
    const auto count = [&](int item, int) { ++seen[static_cast<std::size_t>(item)]; };
    int sumBefore = 0;
    const auto sumUp = [&](int, int) { sumBefore = std::accumulate(seen.begin(), seen.end(), 0); };
    pool.run({{kMany, count}, {1, sumUp}, {kMany, count}});
    QCOMPARE(sumBefore, kMany);
    for (const int times : seen) QCOMPARE(times, 2);
  }

  // Each thread moves its own clock, so the caller's time is that of the items it took.
  void theCallersTimeInAStageIsTold() {
    ThreadPool alone(1, {}, ownNs), two(2, {}, ownNs);
    for (ThreadPool* pool : {&alone, &two}) {
      int numFirst = 0, numThird = 0;
      double firstNs = 5, thirdNs = 0;
      const auto work = [](int, int) { t_ownNs += 10; };
      const auto workFirst = [&](int, int thread) {
        t_ownNs += 10;
        if (thread == 0) ++numFirst;
      };
      const auto workThird = [&](int, int thread) {
        t_ownNs += 10;
        if (thread == 0) ++numThird;
      };
      pool->run({{4, workFirst, &firstNs}, {7, work}, {2, workThird, &thirdNs}});
      QCOMPARE(firstNs, 5 + 10.0 * numFirst);
      QCOMPARE(thirdNs, 10.0 * numThird);
      if (pool == &alone) QVERIFY(numFirst == 4 && numThird == 2);
    }
  }

  void workersComeBackFromSleep() {
    ThreadPool pool(2);
    for (int round = 0; round < 20; ++round) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));  // longer than they spin
      // Each item waits for the other one: this ends only if two threads are at work.
      std::atomic<int> arrived{0};
      pool.run(2, [&](int, int) {
        arrived.fetch_add(1);
        while (arrived.load() < 2) std::this_thread::yield();
      });
      QCOMPARE(arrived.load(), 2);
    }
  }

  void workersStayOnTheirCpus() {
    const auto numCpus = static_cast<int>(std::thread::hardware_concurrency());
    cpu_set_t allowed;
    QCOMPARE(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    int last = numCpus - 1;
    while (last > 0 && !CPU_ISSET(static_cast<std::size_t>(last), &allowed)) --last;
    ThreadPool pool(2, {{0}, {last}});
    std::atomic<int> arrived{0}, cpusOfWorker{0};
    pool.run(2, [&](int, int thread) {
      cpu_set_t set;
      sched_getaffinity(0, sizeof set, &set);
      if (thread == 1 && CPU_ISSET(static_cast<std::size_t>(last), &set))
        cpusOfWorker = CPU_COUNT(&set);
      arrived.fetch_add(1);
      while (arrived.load() < 2) std::this_thread::yield();
    });
    QCOMPARE(cpusOfWorker.load(), 1);
  }

  void theCallerSleepsThroughALongItem() {
    ThreadPool pool(2);
    std::atomic<int> done{0};
    pool.run(2, [&](int, int thread) {
      if (thread != 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      done.fetch_add(1);
    });
    QCOMPARE(done.load(), 2);
  }

  // Whoever runs an item moves its own clock: however the items fall to the threads, the sum of
  // those that others ran must come back.
  void theWorkOfTheOthersIsCountedToTheNanosecond() {
    ThreadPool pool(3, {}, ownNs);
    for (int round = 0; round < 200; ++round) {
      std::atomic<std::int64_t> helpNs{0};
      pool.run(24, [&](int item, int thread) {
        const std::int64_t ns = 100 + item;
        t_ownNs += ns;
        if (thread != 0) helpNs += ns;
      });
      t_ownNs += 50;  // the caller's own work
      const kernels::cpu::PoolTimes times = pool.takeTimes();
      QCOMPARE(times.helpNs, helpNs.load());
      QCOMPARE(times.waitNs, 0);  // its clock stands still while it waits
    }
    QCOMPARE(pool.takeTimes().helpNs, 0);
  }

  void theCallersWaitIsCountedFromItsLastItemToTheEndOfAll() {
    g_readings = 0;
    ThreadPool pool(2, {}, commonNs);
    std::atomic<int> arrived{0};
    pool.run(2, [&](int, int thread) {
      const int readings = g_readings.load();
      arrived.fetch_add(1);
      while (arrived.load() < 2) std::this_thread::yield();
      if (thread == 0) return;
      // the caller looks at the clock when it is out of items
      while (g_readings.load() == readings) std::this_thread::yield();
      g_commonNs += 1000;
    });
    const kernels::cpu::PoolTimes times = pool.takeTimes();
    QCOMPARE(times.waitNs, 1000);
    QCOMPARE(times.helpNs, 1000);
  }

  void aCallerAloneNeitherWaitsNorIsHelped() {
    ThreadPool alone(1, {}, commonNs), two(2, {}, commonNs);
    for (ThreadPool* pool : {&alone, &two}) {
      pool->run(pool == &two ? 1 : 5, [](int, int) { g_commonNs += 10; });
      QCOMPARE(pool->takeTimes().helpNs, 0);
      QCOMPARE(pool->takeTimes().waitNs, 0);
    }
  }

 private:
  void threadCounts() {
    QTest::addColumn<int>("threads");
    for (const int threads : {1, 2, 3, 8}) QTest::addRow("%d threads", threads) << threads;
  }
};

QTEST_GUILESS_MAIN(ThreadPoolTest)
#include "tst_thread_pool.moc"
