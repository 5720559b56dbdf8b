// How a kernel-side call ended. kernels knows nothing above it, so it has its own small outcome.
#pragma once

#include <string>
#include <utility>

namespace kernels {

enum class Outcome : unsigned char { Ok, Cancelled, Unsupported, OutOfMemory, DeviceFailed };

struct [[nodiscard]] Status {
  Outcome outcome = Outcome::Ok;
  std::string message;  // one sentence when not Ok

  bool isOk() const { return outcome == Outcome::Ok; }
  static Status ok() { return {}; }
  static Status failed(Outcome outcome, std::string message) { return {outcome, std::move(message)}; }
};

}  // namespace kernels
