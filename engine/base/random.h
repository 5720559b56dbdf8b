// Counter-based random numbers: a pure function of (seed, request, position, stream). Nothing is
// stored, so preemption, batch mates and speculation cannot shift anybody's draws.
#pragma once

#include <cstdint>

namespace engine {

// What the number is for; two draws at one position never share a stream.
enum class DrawStream : std::uint32_t { Sample = 0, Accept = 1, Residual = 2, Draft = 3, Workload = 4 };

// SplitMix64 finaliser (Steele, Lea, Flood 2014), used as a hash of the four words in turn.
constexpr std::uint64_t mixBits(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

// Uniform in [0, 1), 53 bits. `sample` tells apart the children of one request (n > 1): 0-based.
// The request's own id is not part of the key: the same seed gives the same text in any run.
constexpr double counterDraw(std::uint64_t seed,
                             std::uint64_t sample,
                             std::uint64_t position,
                             DrawStream stream) {
  std::uint64_t x = mixBits(seed);
  x = mixBits(x ^ sample);
  x = mixBits(x ^ position);
  x = mixBits(x ^ static_cast<std::uint64_t>(stream));
  return static_cast<double>(x >> 11) * 0x1.0p-53;
}

}  // namespace engine
