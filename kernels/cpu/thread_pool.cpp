#include "kernels/cpu/thread_pool.h"

#include <algorithm>
#include <chrono>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace kernels::cpu {

namespace {

// Longer than the serial stretch between two jobs of a step, far shorter than a time slice.
constexpr std::chrono::microseconds kSpinTime{40};
constexpr int kPiecesPerThread = 4;
constexpr std::uint64_t kLeftMask = 0xffffffffull;

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

ThreadPool::ThreadPool(int numThreads) {
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
  // Plain stores are enough: the last job is over, so nobody holds an item, and the ticket below
  // publishes them.
  m_body.store(body, std::memory_order_relaxed);
  m_context.store(context, std::memory_order_relaxed);
  m_numItems.store(numItems, std::memory_order_relaxed);
  m_unfinished.store(numItems, std::memory_order_relaxed);
  const std::uint64_t job = (m_ticket.load(std::memory_order_relaxed) >> 32) + 1;
  m_ticket.store(job << 32 | static_cast<std::uint64_t>(numItems));
  if (m_numSleeping.load() > 0) {
    { std::lock_guard lock(m_mutex); }  // a worker past its last look is now inside wait()
    m_workWake.notify_all();
  }
  while (workOnce(0)) {
  }
  waitForEnd();
}

bool ThreadPool::workOnce(int thread) {
  std::uint64_t ticket = m_ticket.load(std::memory_order_acquire);
  for (;;) {
    const int left = static_cast<int>(ticket & kLeftMask);
    if (left == 0) return false;
    const Body body = m_body.load(std::memory_order_relaxed);
    const void* context = m_context.load(std::memory_order_relaxed);
    const int item = m_numItems.load(std::memory_order_relaxed) - left;
    if (!m_ticket.compare_exchange_weak(ticket, ticket - 1, std::memory_order_acq_rel,
                                        std::memory_order_acquire)) {
      continue;
    }
    body(context, item, thread);
    if (m_unfinished.fetch_sub(1) == 1 && m_isCallerSleeping.load()) {
      { std::lock_guard lock(m_mutex); }
      m_endWake.notify_one();
    }
    return true;
  }
}

void ThreadPool::workerLoop(int thread) {
  while (!m_isStopping.load(std::memory_order_relaxed)) {
    if (!workOnce(thread)) waitForWork();
  }
}

void ThreadPool::waitForWork() {
  const auto isReady = [this] {
    return (m_ticket.load() & kLeftMask) != 0 || m_isStopping.load(std::memory_order_relaxed);
  };
  if (spinUntil(isReady)) return;
  std::unique_lock lock(m_mutex);
  m_numSleeping.fetch_add(1);  // before the last look: see runJob
  m_workWake.wait(lock, isReady);
  m_numSleeping.fetch_sub(1);
}

void ThreadPool::waitForEnd() {
  const auto isOver = [this] { return m_unfinished.load() == 0; };
  if (spinUntil(isOver)) return;
  std::unique_lock lock(m_mutex);
  m_isCallerSleeping = true;
  m_endWake.wait(lock, isOver);
  m_isCallerSleeping = false;
}

}  // namespace kernels::cpu
