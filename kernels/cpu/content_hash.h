// 128-bit hashes (XXH3) of much memory, made of the hashes of its pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace kernels::cpu {

struct ContentHash {
  std::uint64_t low = 0, high = 0;

  friend bool operator==(const ContentHash&, const ContentHash&) = default;
};

// Small enough to be still in a core's cache when it was just read, large beside what a piece
// costs.
inline constexpr std::size_t kPieceBytes = std::size_t{256} << 10;

constexpr std::size_t numPieces(std::size_t bytes) {
  return (bytes + kPieceBytes - 1) / kPieceBytes;
}

template <typename Byte>
std::span<Byte> pieceOf(std::span<Byte> bytes, std::size_t piece) {
  const std::size_t begin = piece * kPieceBytes;
  return bytes.subspan(begin,
                       bytes.size() - begin < kPieceBytes ? bytes.size() - begin : kPieceBytes);
}

ContentHash hashOf(std::span<const std::byte> bytes);
// 32 digits, 0-9 and a-f.
std::string hexOf(const ContentHash& hash);

}  // namespace kernels::cpu
