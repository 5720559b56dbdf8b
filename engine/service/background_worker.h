// One thread that runs tasks in order, away from the engine thread.
#pragma once

#include <chrono>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "engine/base/mailbox.h"

namespace engine::service {

// Thread-safe. Destruction drops tasks that have not begun and waits for the one that has.
class BackgroundWorker {
 public:
  BackgroundWorker() : m_thread([this](std::stop_token stop) { work(stop); }) {}

  ~BackgroundWorker() {
    m_thread.request_stop();
    m_tasks.push({});  // wakes the thread
  }

  BackgroundWorker(const BackgroundWorker&) = delete;
  BackgroundWorker& operator=(const BackgroundWorker&) = delete;

  void run(std::function<void()> task) { m_tasks.push(std::move(task)); }

 private:
  void work(const std::stop_token& stop) {
    std::vector<std::function<void()>> tasks;
    while (!stop.stop_requested()) {
      m_tasks.waitAndDrain(tasks, std::chrono::hours(1));
      for (auto& task : tasks) {
        if (task && !stop.stop_requested()) task();
      }
      tasks.clear();
    }
  }

  Mailbox<std::function<void()>> m_tasks;
  std::jthread m_thread;  // last: it uses the mailbox
};

}  // namespace engine::service
