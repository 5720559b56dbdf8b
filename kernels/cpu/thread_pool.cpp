#include "kernels/cpu/thread_pool.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <sched.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace kernels::cpu {

namespace {

// Longer than the serial stretch between two jobs of a step, far shorter than a time slice.
constexpr std::chrono::microseconds kSpinTime{40};
constexpr int kPiecesPerThread = 4;
// A share's word: 28 bits of the job's number, then first item and end.
constexpr int kItemBits = 18;
constexpr std::uint64_t kItemMask = (1u << kItemBits) - 1;

struct Items {
  std::uint64_t job, first, end;
};

constexpr std::uint64_t wordOf(const Items& items) {
  return items.job << (2 * kItemBits) | items.first << kItemBits | items.end;
}

constexpr Items itemsOf(std::uint64_t word) {
  return {word >> (2 * kItemBits), word >> kItemBits & kItemMask, word & kItemMask};
}

void pauseBriefly() {
#if defined(__x86_64__)
  for (int i = 0; i < 8; ++i) _mm_pause();
#else
  std::this_thread::yield();
#endif
}

// True as soon as `isReady`, false when the spin time is over.
template <typename Ready>
bool spinUntil(Ready&& isReady) {
  const auto end = std::chrono::steady_clock::now() + kSpinTime;
  do {
    if (isReady()) return true;
    pauseBriefly();
  } while (std::chrono::steady_clock::now() < end);
  return isReady();
}

}  // namespace

ThreadPool::ThreadPool(int numThreads,
                       std::vector<std::vector<int>> cpus,
                       std::int64_t (*clock)())
    : m_clock(clock),
      m_stints(static_cast<std::size_t>(std::max(numThreads, 1))),
      m_shares(m_stints.size()),
      m_cpus(std::move(cpus)) {
  m_workers.reserve(static_cast<std::size_t>(std::max(numThreads, 1) - 1));
  try {
    for (int thread = 1; thread < numThreads; ++thread) {
      m_workers.emplace_back([this, thread] { workerLoop(thread); });
    }
  } catch (...) {  // the system gives no more; those that run would end the program
    stopWorkers();
    throw;
  }
}

ThreadPool::~ThreadPool() {
  stopWorkers();
}

void ThreadPool::stopWorkers() {
  {
    std::lock_guard lock(m_mutex);
    m_isStopping = true;
  }
  m_workWake.notify_all();
  for (std::thread& worker : m_workers) worker.join();
}

std::int64_t ThreadPool::steadyNs() {
  const auto sinceStart = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(sinceStart).count();
}

PoolTimes ThreadPool::takeTimes() {
  PoolTimes times;
  times.waitNs = std::exchange(m_waitNs, 0);
  for (Stint& stint : m_stints) times.helpNs += std::exchange(stint.ns, 0);
  return times;
}

int ThreadPool::pieceSize(int count, int grain) const {
  const int wanted = numThreads() * kPiecesPerThread;
  const int size = (std::max(count, 1) + wanted - 1) / wanted;
  return (size + grain - 1) / grain * grain;
}

void ThreadPool::runJob(int numItems, Body body, const void* context) {
  if (numItems <= 1 || m_workers.empty()) {
    for (int item = 0; item < numItems; ++item) body(context, item, 0);
    return;
  }
  m_body.store(body, std::memory_order_relaxed);
  m_context.store(context, std::memory_order_relaxed);
  constexpr int kMost = static_cast<int>(kItemMask);
  for (int first = 0; first < numItems; first += kMost) {
    runBatch(first, std::min(kMost, numItems - first));
  }
}

// Plain stores are enough: the last batch is over, so nobody holds an item, and the words of the
// shares publish them.
void ThreadPool::runBatch(int firstItem, int numItems) {
  m_firstItem.store(firstItem, std::memory_order_relaxed);
  m_unfinished.store(numItems, std::memory_order_relaxed);
  ++m_job;
  std::uint64_t first = 0;
  for (std::size_t thread = 0; thread < m_shares.size(); ++thread) {
    const std::uint64_t end = static_cast<std::uint64_t>(numItems) * (thread + 1) / m_shares.size();
    m_shares[thread].word.store(wordOf({m_job, first, end}));
    first = end;
  }
  m_published.fetch_add(1);
  if (m_numSleeping.load() > 0) {
    { std::lock_guard lock(m_mutex); }  // a worker past its last look is now inside wait()
    m_workWake.notify_all();
  }
  work(0);
  waitForEnd();
}

// One's own from the front, another's from the back. sinceNs: when this thread began or ended its
// last item; the time since then is told before the item counts as done.
bool ThreadPool::takeItem(int thread, int from, std::int64_t& sinceNs) {
  std::atomic<std::uint64_t>& share = m_shares[static_cast<std::size_t>(from)].word;
  std::uint64_t word = share.load(std::memory_order_acquire);
  for (;;) {
    Items items = itemsOf(word);
    if (items.first == items.end) return false;
    const Body body = m_body.load(std::memory_order_relaxed);
    const void* context = m_context.load(std::memory_order_relaxed);
    const int start = m_firstItem.load(std::memory_order_relaxed);
    const std::uint64_t item = thread == from ? items.first++ : --items.end;
    if (!share.compare_exchange_weak(word, wordOf(items), std::memory_order_acq_rel,
                                     std::memory_order_acquire)) {
      continue;
    }
    body(context, start + static_cast<int>(item), thread);
    if (thread != 0) {
      const std::int64_t nowNs = m_clock();
      m_stints[static_cast<std::size_t>(thread)].ns += nowNs - std::exchange(sinceNs, nowNs);
    }
    if (m_unfinished.fetch_sub(1) == 1 && m_isCallerSleeping.load()) {
      { std::lock_guard lock(m_mutex); }
      m_endWake.notify_one();
    }
    return true;
  }
}

bool ThreadPool::workOnce(int thread, std::int64_t& sinceNs) {
  for (int i = 0; i < numThreads(); ++i) {
    if (takeItem(thread, (thread + i) % numThreads(), sinceNs)) return true;
  }
  return false;
}

void ThreadPool::work(int thread) {
  std::int64_t sinceNs = thread == 0 ? 0 : m_clock();
  while (workOnce(thread, sinceNs)) {
  }
}

// A system that refuses only costs speed.
void ThreadPool::stayOn(const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) {
    if (cpu < CPU_SETSIZE) CPU_SET(static_cast<std::size_t>(cpu), &set);
  }
  if (CPU_COUNT(&set) > 0) sched_setaffinity(0, sizeof set, &set);
}

void ThreadPool::workerLoop(int thread) {
  if (!m_cpus.empty()) stayOn(m_cpus[static_cast<std::size_t>(thread)]);
  std::uint64_t seen = 0;
  while (!m_isStopping.load(std::memory_order_relaxed)) {
    seen = waitForWork(seen);
    work(thread);
  }
}

// The shares are left alone meanwhile: whoever looks at them holds up those who take items.
std::uint64_t ThreadPool::waitForWork(std::uint64_t seen) {
  const auto isReady = [this, seen] {
    return m_published.load() != seen || m_isStopping.load(std::memory_order_relaxed);
  };
  if (!spinUntil(isReady)) {
    std::unique_lock lock(m_mutex);
    m_numSleeping.fetch_add(1);  // before the last look: see runBatch
    m_workWake.wait(lock, isReady);
    m_numSleeping.fetch_sub(1);
  }
  return m_published.load();
}

void ThreadPool::waitForEnd() {
  const auto isOver = [this] { return m_unfinished.load() == 0; };
  if (isOver()) return;
  const std::int64_t beginNs = m_clock();
  if (!spinUntil(isOver)) {
    std::unique_lock lock(m_mutex);
    m_isCallerSleeping = true;
    m_endWake.wait(lock, isOver);
    m_isCallerSleeping = false;
  }
  m_waitNs += m_clock() - beginNs;
}

}  // namespace kernels::cpu
