#include "engine/text/jinja_string.h"

#include <algorithm>
#include <utility>

namespace engine::text::jinja {

String::String(std::string bytes, Origin origin) : m_bytes(std::move(bytes)) {
  if (!m_bytes.empty()) m_runs.push_back({m_bytes.size(), origin});
}

void String::append(std::string_view bytes, Origin origin) {
  if (bytes.empty()) return;
  m_bytes.append(bytes);
  if (!m_runs.empty() && m_runs.back().origin == origin) {
    m_runs.back().end = m_bytes.size();
  } else {
    m_runs.push_back({m_bytes.size(), origin});
  }
}

void String::append(const String& other) { appendSlice(other, 0, other.size()); }

void String::appendSlice(const String& other, std::size_t begin, std::size_t end) {
  end = std::min(end, other.size());
  if (begin >= end) return;
  if (&other == this) {
    const String copy = other;
    appendSlice(copy, begin, end);
    return;
  }
  for (std::size_t run = other.runAt(begin); begin < end; ++run) {
    const std::size_t stop = std::min(end, other.m_runs[run].end);
    append(std::string_view(other.m_bytes).substr(begin, stop - begin), other.m_runs[run].origin);
    begin = stop;
  }
}

String String::slice(std::size_t begin, std::size_t end) const {
  String out;
  out.appendSlice(*this, begin, end);
  return out;
}

Origin String::originOf(std::size_t begin, std::size_t end) const {
  end = std::min(end, size());
  if (begin >= end) return Origin::Template;
  for (std::size_t run = runAt(begin); run < m_runs.size(); ++run) {
    if (m_runs[run].origin == Origin::User) return Origin::User;
    if (m_runs[run].end >= end) break;
  }
  return Origin::Template;
}

OriginText String::toOriginText() const {
  OriginText out;
  std::size_t begin = 0;
  for (const Run& run : m_runs) {
    out.push_back({m_bytes.substr(begin, run.end - begin), run.origin});
    begin = run.end;
  }
  return out;
}

std::size_t String::runAt(std::size_t position) const {
  const auto found = std::upper_bound(m_runs.begin(), m_runs.end(), position,
                                      [](std::size_t p, const Run& run) { return p < run.end; });
  return static_cast<std::size_t>(found - m_runs.begin());
}

}  // namespace engine::text::jinja
