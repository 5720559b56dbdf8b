// The shapes of the tile registers, as LDTILECFG reads them.
#pragma once

#include <cstdint>

namespace kernels::cpu {

struct alignas(64) TileConfig {
  std::uint8_t palette = 1, startRow = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t columnBytes[16] = {};
  std::uint8_t rows[16] = {};
};

static_assert(sizeof(TileConfig) == 64);

}  // namespace kernels::cpu
