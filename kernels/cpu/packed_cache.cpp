#include "kernels/cpu/packed_cache.h"

#include <sys/resource.h>
#include <unistd.h>

#include <exception>
#include <system_error>

#include "kernels/cpu/packed_key.h"

namespace kernels::cpu {

namespace {

constexpr int kLowestPriority = 19;

std::int64_t nowNs() {
  const auto sinceStart = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(sinceStart).count();
}

}  // namespace

PackedCache::~PackedCache() {
  m_deadlineNs = nowNs() + std::chrono::nanoseconds(kPatience).count();
  finish();
}

PackedRead PackedCache::read(std::span<const WeightView> sources,
                             CodeOrder order,
                             std::span<std::byte> payload,
                             std::span<const std::size_t> roundEnds,
                             ThreadPool& pool,
                             const LoadWatch& watch) {
  const auto key = packedKey(sources, order, pool, watch.part(0.0, kHashShare));
  if (!key) return PackedRead::Cancelled;
  m_key = *key;
  return readPackedFile(m_folder.fileOf(m_key), m_key, payload, roundEnds, pool,
                        watch.part(kHashShare, 1.0));
}

void PackedCache::keep(std::span<const std::byte> payload) {
  Status status = m_folder.makeRoom(m_key, kPackedHeaderBytes + payload.size());
  if (status.isOk()) status = m_writer.open(m_folder.fileOf(m_key), payload.size());
  if (!status.isOk()) {
    m_reason = status.message;
    return;
  }
  try {
    m_thread = std::thread([this, payload] { write(payload); });
  } catch (const std::system_error& error) {
    m_reason = error.what();
  }
}

void PackedCache::write(std::span<const std::byte> payload) {
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kLowestPriority);
  try {
    const Status status = m_writer.write(m_key, payload, [this] {
      const std::int64_t deadline = m_deadlineNs.load(std::memory_order_relaxed);
      return deadline != 0 && nowNs() > deadline;
    });
    if (status.outcome == Outcome::DeviceFailed) m_lateReason = status.message;
  } catch (const std::exception& failure) {
    m_lateReason = failure.what();
  }
  m_isDone.store(true, std::memory_order_release);
}

void PackedCache::finish() {
  if (m_thread.joinable()) m_thread.join();
}

std::string PackedCache::sentence(const std::string& reason) const {
  if (reason.empty()) return {};
  return "packed weights are not kept in " + m_folder.path() +
         ", so the next load packs again: " + reason;
}

std::string PackedCache::note() const {
  if (!m_reason.empty() || !m_isDone.load(std::memory_order_acquire)) return sentence(m_reason);
  return sentence(m_lateReason);
}

}  // namespace kernels::cpu
