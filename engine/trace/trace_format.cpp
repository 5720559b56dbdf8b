#include "engine/trace/trace_format.h"

#include <xxhash.h>

namespace engine::trace {

std::uint32_t recordChecksum(std::uint8_t kind, std::string_view payload) {
  return static_cast<std::uint32_t>(XXH64(payload.data(), payload.size(), kind));
}

void appendWord(std::string& out, std::uint32_t word) {
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(word >> shift));
}

std::uint32_t wordAt(std::string_view bytes, std::size_t at) {
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    word |= static_cast<std::uint32_t>(static_cast<std::uint8_t>(bytes[at + i])) << (8 * i);
  }
  return word;
}

}  // namespace engine::trace
