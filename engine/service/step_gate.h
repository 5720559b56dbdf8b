// Lets the front end's thread stop the step that is computing a request it cancels.
#pragma once

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

#include "engine/base/cancel_token.h"
#include "engine/base/ids.h"

namespace engine::service {

// Thread-safe. The front end first puts its command into the mailbox and then knocks here; the
// engine opens the gate first and then looks into the mailbox. So one of them always sees the
// other.
class StepGate {
 public:
  // Engine thread: a step with these requests is about to compute.
  void open(std::vector<RequestId> requests) {
    std::lock_guard lock(m_mutex);
    m_cancel.reset();
    m_requests = std::move(requests);
    m_isOpen = true;
  }

  void close() {
    std::lock_guard lock(m_mutex);
    m_isOpen = false;
  }

  // Any thread: stops the step if it computes this request.
  void stopStepOf(RequestId request) {
    std::lock_guard lock(m_mutex);
    if (m_isOpen && std::ranges::find(m_requests, request) != m_requests.end()) m_cancel.cancel();
  }

  // Any thread: stops whatever step is computing.
  void stopAnyStep() {
    std::lock_guard lock(m_mutex);
    if (m_isOpen) m_cancel.cancel();
  }

  const std::atomic<bool>& flag() const { return m_cancel.flag(); }

 private:
  std::mutex m_mutex;
  CancelToken m_cancel;
  std::vector<RequestId> m_requests;
  bool m_isOpen = false;
};

}  // namespace engine::service
