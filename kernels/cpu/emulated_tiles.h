// Tile registers as plain memory: what AMX's instructions do, for machines (and tests) without
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/core/float_bits.h"
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

  // Two chains from zero, of the even and of the odd elements; subnormal numbers are zero, in and
  // out, whatever the processor's own mode.
  template <int Sums, int A, int B>
  static void addBf16Products() {
    Registers& r = registers();
    const int steps = r.config.columnBytes[A] / 4, columns = r.config.columnBytes[Sums] / 4;
    float b[2][16][16] = {};  // [half][step][column]
    for (int step = 0; step < steps; ++step) {
      for (int column = 0; column < columns; ++column) {
        for (int half = 0; half < 2; ++half) {
          b[half][step][column] = bf16At(r.bytes[B][step], 2 * column + half);
        }
      }
    }
    for (int row = 0; row < r.config.rows[Sums]; ++row) {
      float chains[2][16] = {}, sums[16] = {};
      for (int step = 0; step < steps; ++step) {
        for (int half = 0; half < 2; ++half) {
          const float a = bf16At(r.bytes[A][row], 2 * step + half);
          for (int column = 0; column < 16; ++column) {
            chains[half][column] =
                normal(__builtin_fmaf(a, b[half][step][column], chains[half][column]));
          }
        }
      }
      std::memcpy(sums, r.bytes[Sums][row], static_cast<std::size_t>(columns) * 4);
      for (int column = 0; column < 16; ++column) {
        sums[column] = normal(normal(sums[column]) + normal(chains[0][column] + chains[1][column]));
      }
      std::memcpy(r.bytes[Sums][row], sums, static_cast<std::size_t>(columns) * 4);
    }
  }

 private:
  static float normal(float x) {
    const auto bits = __builtin_bit_cast(std::uint32_t, x);
    return __builtin_bit_cast(float, (bits & 0x7F800000u) == 0 ? bits & 0x80000000u : bits);
  }

  static float bf16At(const std::int8_t* row, int index) {
    std::uint16_t bits;
    std::memcpy(&bits, row + 2 * index, 2);
    return normal(floatOfBf16(bits));
  }
};

}  // namespace

}  // namespace kernels::cpu
