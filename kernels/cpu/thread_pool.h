// Persistent worker threads that share out the items of one job at a time; the caller works too.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace kernels::cpu {

// What the threads did in some jobs. The caller's time outside of waitNs is its own: what it does
// between two jobs, too, while the others have nothing to do.
struct PoolTimes {
  std::int64_t helpNs = 0;  // the other threads at work on items, together
  std::int64_t waitNs = 0;  // the caller, out of items, until the others had ended theirs
};

// run() and runRanges() belong to one thread at a time (the engine thread) and do not nest.
// Each thread has a share of neighbouring items, which it takes in order: what they read is one
// stream. Who has none left takes the last of another's, so that a thread which another program
// holds up only delays the item it has in hand: a job ends when its items are done, not when every
// worker has looked in.
class ThreadPool {
 public:
  // numThreads >= 1 counts the caller; numThreads - 1 workers are started. Throws std::system_error
  // when the system gives fewer.
  // cpus: those that each thread may run on, the caller's aside, which stays where it is; empty =
  // all anywhere.
  // clock: nanoseconds that never go back, from any thread; read once an item, not by the caller.
  explicit ThreadPool(int numThreads,
                      std::vector<std::vector<int>> cpus = {},
                      std::int64_t (*clock)() = steadyNs);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int numThreads() const { return static_cast<int>(m_shares.size()); }

  // fn(item, thread) once for each item of [0, numItems), in any order, on threads
  // [0, numThreads()); the caller is thread 0. What fn wrote is visible when run() returns.
  template <typename Fn>
  void run(int numItems, Fn&& fn) {
    using Body = std::remove_reference_t<Fn>;
    runJob(
        numItems,
        [](const void* context, int item, int thread) {
          (*static_cast<Body*>(const_cast<void*>(context)))(item, thread);
        },
        &fn);
  }

  // Of the jobs since the last call. Belongs to the thread that runs them, between two.
  PoolTimes takeTimes();

  // fn(begin, end, thread) over [0, count), cut at multiples of `grain` (>= 1) into a few pieces a
  // thread. Where the cuts lie depends on count, grain and numThreads() only.
  template <typename Fn>
  void runRanges(int count, int grain, Fn&& fn) {
    const int size = pieceSize(count, grain);
    run((count + size - 1) / size, [&](int piece, int thread) {
      const int begin = piece * size;
      fn(begin, count - begin < size ? count : begin + size, thread);
    });
  }

 private:
  using Body = void (*)(const void* context, int item, int thread);

  void stopWorkers();

  // The items of a job that a thread has left, in one word: number of the job, first item, end. It
  // is changed only by exchanging the whole word, so a late thread that still looks at an older job
  // finds none left or loses the exchange: it never runs what it read of another job.
  struct alignas(64) Share {
    std::atomic<std::uint64_t> word{0};
  };

  // Written by its own thread before it gives an item up, read once all are.
  struct alignas(64) Stint {
    std::int64_t ns = 0;
  };

  static std::int64_t steadyNs();
  int pieceSize(int count, int grain) const;
  void runJob(int numItems, Body body, const void* context);
  void runBatch(int firstItem, int numItems);
  bool takeItem(int thread, int from, std::int64_t& sinceNs);
  bool workOnce(int thread, std::int64_t& sinceNs);  // false when no item is left
  void work(int thread);                             // until no item is left
  void stayOn(const std::vector<int>& cpus);
  void workerLoop(int thread);
  // Until more than `seen` batches were published; returns how many were.
  std::uint64_t waitForWork(std::uint64_t seen);
  void waitForEnd();

  std::int64_t (*const m_clock)();
  std::int64_t m_waitNs = 0;
  std::vector<Stint> m_stints;                   // of each thread; the caller's stays empty
  std::vector<Share> m_shares;                   // of each thread
  alignas(64) std::atomic<int> m_unfinished{0};  // items of the job not yet done
  alignas(64) std::atomic<std::uint64_t> m_published{0};  // batches
  alignas(64) std::atomic<Body> m_body{nullptr};
  std::atomic<const void*> m_context{nullptr};
  std::atomic<int> m_firstItem{0};  // that the shares count from
  std::uint64_t m_job = 0;

  alignas(64) std::mutex m_mutex;
  std::condition_variable m_workWake, m_endWake;
  std::atomic<int> m_numSleeping{0};
  std::atomic<bool> m_isCallerSleeping{false}, m_isStopping{false};
  std::vector<std::vector<int>> m_cpus;
  std::vector<std::thread> m_workers;
};

}  // namespace kernels::cpu
