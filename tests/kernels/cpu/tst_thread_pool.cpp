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
