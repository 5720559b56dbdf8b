// A UTF-8 string in which every byte knows whether the template or the user wrote it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text/origin_text.h"

namespace engine::text::jinja {

// Positions are byte offsets. Thread-compatible.
class String {
 public:
  String() = default;
  String(std::string bytes, Origin origin);

  std::string_view view() const { return m_bytes; }
  std::size_t size() const { return m_bytes.size(); }
  bool isEmpty() const { return m_bytes.empty(); }

  void append(std::string_view bytes, Origin origin);
  void append(const String& other);
  // Bytes [begin, end) of `other` with their origins.
  void appendSlice(const String& other, std::size_t begin, std::size_t end);
  String slice(std::size_t begin, std::size_t end) const;

  // Replacement for bytes computed from [begin, end) of `other`: origin User when any byte of it is.
  Origin originOf(std::size_t begin, std::size_t end) const;

  OriginText toOriginText() const;

 private:
  struct Run {
    std::size_t end;  // one past its last byte
    Origin origin;
  };
  std::size_t runAt(std::size_t position) const;

  std::string m_bytes;
  std::vector<Run> m_runs;  // ascending ends, neighbours differ, the last ends at size()
};

}  // namespace engine::text::jinja
