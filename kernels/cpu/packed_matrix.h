// A weight matrix laid out for the vector kernels: tiles of 32 output columns, one stream each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/core/status.h"
#include "kernels/core/weight_view.h"
#include "kernels/cpu/load_watch.h"
#include "kernels/cpu/thread_pool.h"
#include "kernels/cpu/tile_layout.h"

namespace kernels::cpu {

// Several file matrices with the same inputs (q, k, v; gate, up) side by side: output columns of
// part 0, then of part 1, ... A part may have its own format, and starts a tile of its own.
class PackedMatrix {
 public:
  // One part's place. Column c of the part is output column firstColumn + c and lies in tile
  // firstTile + c / 32; the last tile of a part may hold fewer than 32 columns.
  struct Part {
    DType type = DType::F32;  // in the file
    TileLayout layout;
    int firstTile = 0, numTiles = 0;
    int firstColumn = 0, numColumns = 0;
    std::size_t tileBytes = 0, offset = 0;  // of its first tile in the packed memory
  };

  PackedMatrix() = default;
  // Geometry only; the parts' bytes must stay until pack() has returned. order: the one that the
  // kernels want which are to multiply it, Matmul::codeOrder().
  PackedMatrix(std::vector<WeightView> sources, CodeOrder order);

  // Unsupported, naming the size, unless all parts have the same number of columns and those of
  // block formats are whole groups of 32.
  static Status check(std::span<const WeightView> sources);

  // Memory needed: from a HugeArena, 64-byte aligned.
  std::size_t packedBytes() const { return m_bytes; }

  // Fills `memory` (packedBytes() long; must outlive the matrix) with all threads of the pool.
  // Looks at the watch between tiles, and lets go of what it has read; tells no progress. A
  // cancelled matrix must not be used.
  Status pack(std::byte* memory, ThreadPool& pool, const LoadWatch& watch = {});

  // The same without packing: `memory` holds what pack() once made of the same sources, and
  // `sumUnits` (numTiles()) what it said then.
  void adopt(std::byte* memory, std::span<const float> sumUnits);

  std::span<const WeightView> sources() const { return m_sources; }  // until packed

  int numColumns() const { return m_numColumns; }  // output columns, N

  int numInputs() const { return m_numInputs; }  // K

  int numGroups() const { return (m_numInputs + 31) / 32; }  // the last one may be cut

  int numTiles() const { return m_numTiles; }

  std::span<const Part> parts() const { return m_parts; }

  const Part& partOfTile(int tile) const;
  int firstColumnOfTile(int tile) const;
  int numColumnsOfTile(int tile) const;
  const std::byte* tile(int tile) const;

  // CodeOrder::ByPair: what a unit of the sums of a tile and the following ones stands for, where
  // inputs are RowForm::Bf16.
  const float* sumUnits(int tile) const { return m_sumUnits.data() + tile; }

  // True when some part is multiplied as plain floats: its activations need KeepFloats::Yes.
  bool needsFloats() const;

 private:
  void packTile(int tile);
  void packRange(int begin, int end, const LoadWatch& watch);
  std::span<const std::byte> sourceOfTile(int tile) const;

  std::vector<WeightView> m_sources;
  std::vector<Part> m_parts;
  std::vector<float> m_sumUnits;  // of each tile
  std::byte* m_memory = nullptr;
  std::size_t m_bytes = 0;
  int m_numColumns = 0, m_numInputs = 0, m_numTiles = 0;
};

}  // namespace kernels::cpu
