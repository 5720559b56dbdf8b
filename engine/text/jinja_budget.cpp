#include "engine/text/jinja_budget.h"

#include <fmt/format.h>

#include "engine/text/jinja_failure.h"

namespace engine::text::jinja {

void Budget::step(std::size_t count) {
  m_steps += static_cast<std::int64_t>(count);
  if (m_steps > m_limits.steps) fail(fmt::format("it needs more than {} steps", m_limits.steps));
}

void Budget::checkStringSize(std::size_t numBytes) const {
  if (numBytes > m_limits.stringBytes) {
    fail(fmt::format("it makes a text of more than {} bytes", m_limits.stringBytes));
  }
}

void Budget::take(std::size_t numBytes) {
  if (m_liveBytes + numBytes > m_limits.liveBytes) {
    fail(fmt::format("it needs more than {} bytes of memory", m_limits.liveBytes));
  }
  m_liveBytes += numBytes;
}

void Budget::enter() {
  if (m_depth >= m_limits.depth) {
    fail(fmt::format("it nests more than {} levels deep", m_limits.depth));
  }
  ++m_depth;
}

}  // namespace engine::text::jinja
