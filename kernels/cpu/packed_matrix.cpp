#include "kernels/cpu/packed_matrix.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "kernels/core/quant_group.h"
#include "kernels/cpu/pack_tile.h"

namespace kernels::cpu {

namespace {

constexpr std::size_t kLetGoBytes = std::size_t{512} << 10;

}  // namespace

Status PackedMatrix::check(std::span<const WeightView> sources) {
  std::int64_t columns = 0;
  for (const WeightView& source : sources) {
    const bool isWhole = source.cols % kGroupSize == 0 || !isQuantized(source.type);
    if (source.cols != sources.front().cols || source.cols <= 0 || !isWhole) {
      return Status::failed(Outcome::Unsupported,
                            "a weight row of " + std::to_string(source.cols) +
                                " columns cannot be packed: in blocks it must be a multiple of " +
                                std::to_string(kGroupSize) + ", and the same in joined matrices");
    }
    columns += source.rows;
  }
  constexpr std::int64_t kLimit = std::numeric_limits<int>::max() / 2;
  if (columns <= 0 || columns > kLimit || sources.front().cols > kLimit) {
    return Status::failed(Outcome::Unsupported, "a weight matrix of " + std::to_string(columns) +
                                                    " rows cannot be packed: the limit is " +
                                                    std::to_string(kLimit));
  }
  return Status::ok();
}

PackedMatrix::PackedMatrix(std::vector<WeightView> sources, CodeOrder order)
    : m_sources(std::move(sources)) {
  m_numInputs = m_sources.empty() ? 0 : static_cast<int>(m_sources.front().cols);
  for (const WeightView& source : m_sources) {
    Part part;
    part.type = source.type;
    part.layout = tileLayoutOf(source.type, order);
    part.firstTile = m_numTiles;
    part.firstColumn = m_numColumns;
    part.numColumns = static_cast<int>(source.rows);
    part.numTiles = (part.numColumns + kTileColumns - 1) / kTileColumns;
    part.tileBytes = kernels::cpu::tileBytes(part.layout, numGroups());
    part.offset = m_bytes;
    m_numTiles += part.numTiles;
    m_numColumns += part.numColumns;
    m_bytes += static_cast<std::size_t>(part.numTiles) * part.tileBytes;
    m_parts.push_back(part);
  }
}

Status PackedMatrix::pack(std::byte* memory, ThreadPool& pool, const LoadWatch& watch) {
  m_memory = memory;
  m_sumUnits.resize(static_cast<std::size_t>(m_numTiles));
  pool.runRanges(m_numTiles, 1, [&](int begin, int end, int) { packRange(begin, end, watch); });
  // once more, for what was left of each range
  for (const WeightView& source : m_sources) watch.letGo({source.data, source.bytes()});
  m_sources.clear();
  return watch.isCancelled() ? Status::failed(Outcome::Cancelled, "packing was cancelled")
                             : Status::ok();
}

// Of a large matrix, packed and read bytes must not both be there as a whole; of a small one, a
// call for each range would cost more than it spares.
void PackedMatrix::packRange(int begin, int end, const LoadWatch& watch) {
  std::span<const std::byte> read;
  for (int tile = begin; tile < end && !watch.isCancelled(); ++tile) {
    packTile(tile);
    const std::span<const std::byte> source = sourceOfTile(tile);
    const bool follows = source.data() == read.data() + read.size();
    read = follows ? std::span(read.data(), read.size() + source.size()) : source;
    if (read.size() < kLetGoBytes) continue;
    watch.letGo(read);
    read = {};
  }
}

std::span<const std::byte> PackedMatrix::sourceOfTile(int tile) const {
  const Part& part = partOfTile(tile);
  const WeightView& source = m_sources[static_cast<std::size_t>(&part - m_parts.data())];
  const std::size_t stride = rowBytes(source.type, source.cols);
  const auto firstRow = static_cast<std::size_t>(tile - part.firstTile) * kTileColumns;
  return {source.data + firstRow * stride,
          static_cast<std::size_t>(numColumnsOfTile(tile)) * stride};
}

void PackedMatrix::adopt(std::byte* memory, std::span<const float> sumUnits) {
  m_memory = memory;
  m_sumUnits.assign(sumUnits.begin(), sumUnits.end());
  m_sources.clear();
}

void PackedMatrix::packTile(int tile) {
  const Part& part = partOfTile(tile);
  const WeightView& source = m_sources[static_cast<std::size_t>(&part - m_parts.data())];
  const int firstRow = (tile - part.firstTile) * kTileColumns;
  m_sumUnits[static_cast<std::size_t>(tile)] =
      kernels::cpu::packTile(source, part.layout, firstRow, numColumnsOfTile(tile),
                             const_cast<std::byte*>(this->tile(tile)));
}

const PackedMatrix::Part& PackedMatrix::partOfTile(int tile) const {
  std::size_t index = m_parts.size() - 1;
  while (m_parts[index].firstTile > tile) --index;
  return m_parts[index];
}

int PackedMatrix::firstColumnOfTile(int tile) const {
  const Part& part = partOfTile(tile);
  return part.firstColumn + (tile - part.firstTile) * kTileColumns;
}

int PackedMatrix::numColumnsOfTile(int tile) const {
  const Part& part = partOfTile(tile);
  return std::min(kTileColumns, part.numColumns - (tile - part.firstTile) * kTileColumns);
}

const std::byte* PackedMatrix::tile(int tile) const {
  const Part& part = partOfTile(tile);
  return m_memory + part.offset + static_cast<std::size_t>(tile - part.firstTile) * part.tileBytes;
}

bool PackedMatrix::needsFloats() const {
  return std::any_of(m_parts.begin(), m_parts.end(),
                     [](const Part& part) { return isPlainFloat(part.layout); });
}

}  // namespace kernels::cpu
