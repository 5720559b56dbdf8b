// Persistent worker threads that share out the items of one job at a time; the caller works too.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace kernels::cpu {

// What the threads did in some jobs. The caller's time outside of waitNs is its own: what it does
// between two jobs, too, while the others have nothing to do.
struct PoolTimes {
  std::int64_t helpNs = 0;  // the other threads at work on items, together
  std::int64_t waitNs = 0;  // the caller, out of items, until the others had ended theirs
};

// Items that all wait for those of the stage before. Borrows what it calls.
struct PoolStage {
  int numItems = 0;
  void (*body)(const void* context, int item, int thread) = nullptr;
  const void* context = nullptr;
  double* wallNs = nullptr;  // the caller's time in this stage is added to it

  template <typename Fn>
  PoolStage(int count, Fn& fn, double* ns = nullptr)
      : numItems(count),
        body([](const void* target, int item, int thread) {
          (*static_cast<Fn*>(const_cast<void*>(target)))(item, thread);
        }),
        context(&fn),
        wallNs(ns) {}
};

// run() and runRanges() belong to one thread at a time (the engine thread) and do not nest.
// Each thread has a share of neighbouring items, which it takes in order: what they read is one
// stream. Who has none left takes the last of another's, so that a thread which another program
// holds up only delays the item it has in hand: a stage ends when its items are done, not when every
// worker has looked in.
class ThreadPool {
 public:
  static constexpr std::size_t kMostStages = 4;  // of a job

  // numThreads >= 1 counts the caller; numThreads - 1 workers are started. Throws std::system_error
  // when the system gives fewer.
  // cpus: those that each thread may run on, the caller's aside, which stays where it is; empty =
  // all anywhere.
  // clock: nanoseconds that never go back, from any thread; workers read it once an item, the
  // caller to wait and for a stage's time.
  explicit ThreadPool(int numThreads,
                      std::vector<std::vector<int>> cpus = {},
                      std::int64_t (*clock)() = steadyNs);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int numThreads() const { return static_cast<int>(m_stints.size()); }

  // A job of 1 to kMostStages stages: their items once each, those of one stage in any order, on
  // threads [0, numThreads()); the caller is thread 0. What an item wrote is visible to those of
  // later stages, and when run() returns. From one stage to the next the threads find by themselves,
  // which is faster than two jobs.
  template <std::size_t N>
  void run(const PoolStage (&stages)[N]) {
    static_assert(N <= kMostStages);
    runStages(stages);
  }

  // The same for one stage: fn(item, thread) once for each item of [0, numItems).
  template <typename Fn>
  void run(int numItems, Fn&& fn) {
    const PoolStage stage(numItems, fn);
    runStages({&stage, 1});
  }

  // Of the jobs since the last call. Belongs to the thread that runs them, between two.
  PoolTimes takeTimes();

  // Items of [0, count) that one piece of a few for each thread holds: a multiple of `grain` (>= 1).
  int pieceSize(int count, int grain) const;

  // fn(begin, end, thread) over [0, count), in such pieces. Where the cuts lie depends on count,
  // grain and numThreads() only.
  template <typename Fn>
  void runRanges(int count, int grain, Fn&& fn) {
    const int size = pieceSize(count, grain);
    run((count + size - 1) / size, [&](int piece, int thread) {
      const int begin = piece * size;
      fn(begin, count - begin < size ? count : begin + size, thread);
    });
  }

 private:
  void stopWorkers();

  // The items of a stage that a thread has left, in one word: number of the job, first item, end. It
  // is changed only by exchanging the whole word, so a late thread that still looks at an older job
  // finds none of it left or loses the exchange: it never runs what it read of another job.
  struct alignas(64) Share {
    std::atomic<std::uint64_t> word{0};
  };

  struct Stage {
    std::vector<Share> shares;                       // of each thread
    alignas(64) std::atomic<int> unfinished{0};      // items not yet done
    alignas(64) std::atomic<void (*)(const void*, int, int)> body{nullptr};
    std::atomic<const void*> context{nullptr};
    std::atomic<int> firstItem{0};  // that the shares count from
  };

  // Written by its own thread before it gives an item up, read once all are.
  struct alignas(64) Stint {
    std::int64_t ns = 0;
  };

  static std::int64_t steadyNs();
  void runStages(std::span<const PoolStage> stages);
  void runAlone(const PoolStage& stage);
  // firstItem: of each stage; numItems counts from it.
  void runBatch(std::span<const PoolStage> stages, int firstItem);
  void publish(const PoolStage& from, Stage& stage, std::uint64_t job, int firstItem);
  bool takeItem(Stage& stage, std::uint64_t job, int thread, int from, std::int64_t& sinceNs);
  void work(Stage& stage, std::uint64_t job, int thread);  // until no item is left
  void help(std::uint64_t job, int thread);                // with all its stages
  void stayOn(const std::vector<int>& cpus);
  void workerLoop(int thread);
  // Until another job than `seen` was published; returns its number.
  std::uint64_t waitForWork(std::uint64_t seen);
  // Until the stage of this job is over.
  void waitForEnd(const Stage& stage, std::uint64_t job);

  std::int64_t (*const m_clock)();
  std::int64_t m_waitNs = 0;
  std::vector<Stint> m_stints;  // of each thread; the caller's stays empty
  std::array<Stage, kMostStages> m_stages;
  alignas(64) std::atomic<std::uint64_t> m_job{0};  // number of the last one published
  std::atomic<int> m_numStages{0};

  alignas(64) std::mutex m_mutex;
  std::condition_variable m_workWake, m_endWake;
  std::atomic<int> m_numSleeping{0};  // workers that wait for a job
  std::atomic<int> m_numWaiting{0};   // threads that sleep until a stage is over
  std::atomic<bool> m_isStopping{false};
  std::vector<std::vector<int>> m_cpus;
  std::vector<std::thread> m_workers;
};

}  // namespace kernels::cpu
