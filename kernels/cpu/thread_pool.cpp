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
constexpr std::uint64_t kJobMask = (1u << (64 - 2 * kItemBits)) - 1;
constexpr int kMostItems = static_cast<int>(kItemMask);

struct Items {
  std::uint64_t job, first, end;
};

constexpr std::uint64_t wordOf(const Items& items) {
  return (items.job & kJobMask) << (2 * kItemBits) | items.first << kItemBits | items.end;
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
      m_cpus(std::move(cpus)) {
  for (Stage& stage : m_stages) stage.shares = std::vector<Share>(m_stints.size());
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

void ThreadPool::runStages(std::span<const PoolStage> stages) {
  int most = 0;
  for (const PoolStage& stage : stages) most = std::max(most, stage.numItems);
  if (m_workers.empty() || most <= 1) {
    for (const PoolStage& stage : stages) runAlone(stage);
  } else if (most <= kMostItems) {
    runBatch(stages, 0);
  } else {  // more than a word can say: one after the other, in parts
    for (PoolStage part : stages) {
      const int numItems = part.numItems;
      for (int first = 0; first < numItems; first += kMostItems) {
        part.numItems = std::min(kMostItems, numItems - first);
        runBatch({&part, 1}, first);
      }
    }
  }
}

void ThreadPool::runAlone(const PoolStage& stage) {
  const std::int64_t beginNs = stage.wallNs ? m_clock() : 0;
  for (int item = 0; item < stage.numItems; ++item) stage.body(stage.context, item, 0);
  if (stage.wallNs) *stage.wallNs += static_cast<double>(m_clock() - beginNs);
}

void ThreadPool::runBatch(std::span<const PoolStage> stages, int firstItem) {
  const std::uint64_t job = m_job.load(std::memory_order_relaxed) + 1;
  for (std::size_t i = 0; i < stages.size(); ++i) publish(stages[i], m_stages[i], job, firstItem);
  m_numStages.store(static_cast<int>(stages.size()), std::memory_order_relaxed);
  m_job.store(job);
  if (m_numSleeping.load() > 0) {
    { std::lock_guard lock(m_mutex); }  // a worker past its last look is now inside wait()
    m_workWake.notify_all();
  }
  for (std::size_t i = 0; i < stages.size(); ++i) {
    double* wallNs = stages[i].wallNs;
    const std::int64_t beginNs = wallNs ? m_clock() : 0;
    work(m_stages[i], job, 0);
    if (m_stages[i].unfinished.load() > 0) {
      const std::int64_t waitNs = m_clock();
      waitForEnd(m_stages[i], job);
      m_waitNs += m_clock() - waitNs;
    }
    if (wallNs) *wallNs += static_cast<double>(m_clock() - beginNs);
  }
}

// Plain stores are enough: the last job is over, so nobody holds an item, and the words of the
// shares publish them.
void ThreadPool::publish(const PoolStage& from, Stage& stage, std::uint64_t job, int firstItem) {
  stage.body.store(from.body, std::memory_order_relaxed);
  stage.context.store(from.context, std::memory_order_relaxed);
  stage.firstItem.store(firstItem, std::memory_order_relaxed);
  stage.unfinished.store(from.numItems, std::memory_order_relaxed);
  const auto numItems = static_cast<std::uint64_t>(from.numItems), numShares = stage.shares.size();
  std::uint64_t first = 0;
  for (std::size_t thread = 0; thread < numShares; ++thread) {
    const std::uint64_t end = (numItems * (thread + 1) + numShares - 1) / numShares;
    stage.shares[thread].word.store(wordOf({job, first, end}));
    first = end;
  }
}

// One's own from the front, another's from the back. sinceNs: when this thread began or ended its
// last item; the time since then is told before the item counts as done.
bool ThreadPool::takeItem(
    Stage& stage, std::uint64_t job, int thread, int from, std::int64_t& sinceNs) {
  std::atomic<std::uint64_t>& share = stage.shares[static_cast<std::size_t>(from)].word;
  std::uint64_t word = share.load(std::memory_order_acquire);
  for (;;) {
    Items items = itemsOf(word);
    if (items.first == items.end || items.job != (job & kJobMask)) return false;
    const auto body = stage.body.load(std::memory_order_relaxed);
    const void* context = stage.context.load(std::memory_order_relaxed);
    const int start = stage.firstItem.load(std::memory_order_relaxed);
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
    if (stage.unfinished.fetch_sub(1) == 1 && m_numWaiting.load() > 0) {
      { std::lock_guard lock(m_mutex); }
      m_endWake.notify_all();
    }
    return true;
  }
}

void ThreadPool::work(Stage& stage, std::uint64_t job, int thread) {
  std::int64_t sinceNs = thread == 0 ? 0 : m_clock();
  for (int i = 0; i < numThreads(); ++i) {
    while (takeItem(stage, job, thread, (thread + i) % numThreads(), sinceNs)) {
    }
  }
}

void ThreadPool::help(std::uint64_t job, int thread) {
  const auto numStages = static_cast<std::size_t>(m_numStages.load(std::memory_order_relaxed));
  for (std::size_t i = 0; i < numStages; ++i) {
    work(m_stages[i], job, thread);
    if (i + 1 < numStages) waitForEnd(m_stages[i], job);
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
  std::uint64_t job = 0;
  while (!m_isStopping.load(std::memory_order_relaxed)) {
    job = waitForWork(job);
    help(job, thread);
  }
}

// The shares are left alone meanwhile: whoever looks at them holds up those who take items.
std::uint64_t ThreadPool::waitForWork(std::uint64_t seen) {
  const auto isReady = [this, seen] {
    return m_job.load() != seen || m_isStopping.load(std::memory_order_relaxed);
  };
  if (!spinUntil(isReady)) {
    std::unique_lock lock(m_mutex);
    m_numSleeping.fetch_add(1);  // before the last look: see runBatch
    m_workWake.wait(lock, isReady);
    m_numSleeping.fetch_sub(1);
  }
  return m_job.load();
}

// A late worker may find that the whole job is over and another one under way.
void ThreadPool::waitForEnd(const Stage& stage, std::uint64_t job) {
  const auto isOver = [&] { return stage.unfinished.load() == 0 || m_job.load() != job; };
  if (spinUntil(isOver)) return;
  std::unique_lock lock(m_mutex);
  m_numWaiting.fetch_add(1);  // before the last look: see takeItem
  m_endWake.wait(lock, isOver);
  m_numWaiting.fetch_sub(1);
}

}  // namespace kernels::cpu
