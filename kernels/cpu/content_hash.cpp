#include "kernels/cpu/content_hash.h"

#include <xxhash.h>

namespace kernels::cpu {

ContentHash hashOf(std::span<const std::byte> bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.low64, hash.high64};
}

std::string hexOf(const ContentHash& hash) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (const std::uint64_t half : {hash.high, hash.low}) {
    for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[half >> shift & 15u];
  }
  return text;
}

}  // namespace kernels::cpu
