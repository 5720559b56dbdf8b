#include "kernels/cpu/packed_key.h"

#include <algorithm>
#include <vector>

namespace kernels::cpu {

namespace {

constexpr std::size_t kRoundPieces = 512;  // between two looks at the watch

std::vector<std::span<const std::byte>> piecesOf(std::span<const WeightView> sources) {
  std::vector<std::span<const std::byte>> pieces;
  for (const WeightView& source : sources) {
    const std::span<const std::byte> bytes(source.data, source.bytes());
    for (std::size_t i = 0; i < numPieces(bytes.size()); ++i) pieces.push_back(pieceOf(bytes, i));
  }
  return pieces;
}

}  // namespace

std::optional<ContentHash> packedKey(std::span<const WeightView> sources,
                                     CodeOrder order,
                                     ThreadPool& pool,
                                     const LoadWatch& watch) {
  const std::vector<std::span<const std::byte>> pieces = piecesOf(sources);
  std::vector<ContentHash> hashes(pieces.size());
  for (std::size_t first = 0; first < pieces.size(); first += kRoundPieces) {
    const std::size_t count = std::min(kRoundPieces, pieces.size() - first);
    pool.run(static_cast<int>(count), [&](int item, int) {
      const std::size_t piece = first + static_cast<std::size_t>(item);
      if (!watch.isCancelled()) hashes[piece] = hashOf(pieces[piece]);
    });
    if (watch.isCancelled()) return std::nullopt;
    watch.tell(static_cast<double>(first + count) / static_cast<double>(pieces.size()));
  }
  // only now: nothing else takes memory meanwhile, and a few large spans are cheaper to let go of
  for (const WeightView& source : sources) watch.letGo({source.data, source.bytes()});
  std::vector<std::uint64_t> words = {kPackedFormat, static_cast<std::uint64_t>(order)};
  for (const WeightView& source : sources) {
    words.insert(words.end(),
                 {static_cast<std::uint64_t>(source.type), static_cast<std::uint64_t>(source.rows),
                  static_cast<std::uint64_t>(source.cols)});
  }
  for (const ContentHash& hash : hashes) words.insert(words.end(), {hash.low, hash.high});
  return hashOf(std::as_bytes(std::span(words)));
}

}  // namespace kernels::cpu
