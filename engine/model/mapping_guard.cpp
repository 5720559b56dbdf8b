#include "engine/model/mapping_guard.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace engine::model {

// `end` is written last and cleared first: a slot whose `end` stays the same while `begin` is read
// is whole.
struct MappingGuard::Slot {
  std::atomic<bool> isTaken{false}, hasZeros{false};
  std::atomic<std::uintptr_t> begin{0}, end{0};
};

namespace {

static_assert(std::atomic<std::uintptr_t>::is_always_lock_free &&
              std::atomic<bool>::is_always_lock_free);

// All that the handler reads: nothing here is ever constructed or destroyed at run time.
constinit std::array<MappingGuard::Slot, MappingGuard::kMaxMappings> registry{};
constinit std::uintptr_t pageBytes = 0;
struct sigaction formerAction;

// What runs in the handler calls nothing but what POSIX allows there; mmap is a plain system call,
// made as such because sanitizers count a call of the function as a write to the pages.
bool putZeros(std::uintptr_t address) {
  for (MappingGuard::Slot& slot : registry) {
    const std::uintptr_t end = slot.end.load(std::memory_order_acquire);
    const std::uintptr_t begin = slot.begin.load(std::memory_order_acquire);
    if (address < begin || address >= end || slot.end.load(std::memory_order_acquire) != end) {
      continue;
    }
    // first the flag: whoever reads a zero must find it raised
    slot.hasZeros.store(true, std::memory_order_release);
    const std::uintptr_t page = address / pageBytes * pageBytes;
    // to the end: with one mapping a page, a large file would take more than a process may have
    return syscall(SYS_mmap, page, end - page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
                   -1, 0) == static_cast<long>(page);
  }
  return false;
}

// A fault strikes again as soon as the handler returns; a signal that was sent must be sent again.
void passOn(int number, const siginfo_t& info) {
  const bool isFault = info.si_code > 0 && info.si_code != BUS_MCEERR_AO;
  const bool isIgnored =
      (formerAction.sa_flags & SA_SIGINFO) == 0 && formerAction.sa_handler == SIG_IGN;
  if (!isFault && isIgnored) return;
  ::sigaction(number, &formerAction, nullptr);
  if (!isFault) ::raise(number);
}

void onBusError(int number, siginfo_t* info, void*) {
  const int error = errno;
  const bool isOurs = info->si_code == BUS_ADRERR &&
                      putZeros(reinterpret_cast<std::uintptr_t>(info->si_addr));
  if (!isOurs) passOn(number, *info);
  errno = error;
}

bool installHandler() {
  pageBytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  ::sigaction(SIGBUS, nullptr, &formerAction);
  struct sigaction action = {};
  action.sa_sigaction = onBusError;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigemptyset(&action.sa_mask);
  return ::sigaction(SIGBUS, &action, nullptr) == 0;
}

}  // namespace

bool MappingGuard::guard(std::span<const std::byte> mapping) {
  static const bool isInstalled = installHandler();
  if (!isInstalled) return false;
  for (Slot& slot : registry) {
    if (slot.isTaken.exchange(true, std::memory_order_acq_rel)) continue;
    const auto begin = reinterpret_cast<std::uintptr_t>(mapping.data());
    slot.hasZeros.store(false, std::memory_order_relaxed);
    slot.begin.store(begin, std::memory_order_release);
    slot.end.store(begin + mapping.size(), std::memory_order_release);
    m_slot = &slot;
    return true;
  }
  return false;
}

bool MappingGuard::hasZeros() const {
  return m_slot != nullptr && m_slot->hasZeros.load(std::memory_order_acquire);
}

MappingGuard::~MappingGuard() {
  if (m_slot == nullptr) return;
  m_slot->end.store(0, std::memory_order_release);
  m_slot->isTaken.store(false, std::memory_order_release);
}

}  // namespace engine::model
