// Tile registers as plain memory: what AMX's instructions do, for machines (and tests) without
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/cpu/tile_config.h"

namespace kernels::cpu {

namespace {

// One thread's registers; the same names and meaning as AmxTiles.
struct EmulatedTiles {
  struct Registers {
    TileConfig config;
    std::int8_t bytes[8][16][64];
  };

  static Registers& registers() {
    static thread_local Registers instance;
    return instance;
  }

  static void configure(const TileConfig& config) {
    registers().config = config;
    std::memset(registers().bytes, 0, sizeof registers().bytes);
  }

  static void release() {}

  template <int T>
  static void zero() {
    std::memset(registers().bytes[T], 0, sizeof registers().bytes[T]);
  }

  template <int T>
  static void load(const void* from, std::ptrdiff_t stride) {
    Registers& r = registers();
    zero<T>();
    for (int row = 0; row < r.config.rows[T]; ++row) {
      std::memcpy(r.bytes[T][row], static_cast<const std::byte*>(from) + row * stride,
                  r.config.columnBytes[T]);
    }
  }

  template <int T>
  static void store(void* to, std::ptrdiff_t stride) {
    Registers& r = registers();
    for (int row = 0; row < r.config.rows[T]; ++row) {
      std::memcpy(static_cast<std::byte*>(to) + row * stride, r.bytes[T][row],
                  r.config.columnBytes[T]);
    }
  }

  template <int Sums, int A, int B>
  static void addProducts() {
    Registers& r = registers();
    const int steps = r.config.columnBytes[A] / 4, columns = r.config.columnBytes[Sums] / 4;
    for (int row = 0; row < r.config.rows[Sums]; ++row) {
      for (int column = 0; column < columns; ++column) {
        std::int32_t sum;
        std::memcpy(&sum, r.bytes[Sums][row] + 4 * column, 4);
        for (int i = 0; i < 4 * steps; ++i) {
          sum += r.bytes[A][row][i] * r.bytes[B][i / 4][4 * column + i % 4];
        }
        std::memcpy(r.bytes[Sums][row] + 4 * column, &sum, 4);
      }
    }
  }
};

}  // namespace

}  // namespace kernels::cpu
