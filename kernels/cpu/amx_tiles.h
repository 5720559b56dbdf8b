// The tile registers of AMX as matmul_amx_impl.h uses them.
#pragma once

#include <cstddef>

#include "kernels/cpu/tile_config.h"

namespace kernels::cpu {

namespace {

// Register numbers are part of the instructions, hence template arguments. Compilers' own
// intrinsics take them as text only, and some forget that memory is read and written.
struct AmxTiles {
  static void configure(const TileConfig& config) {
    __asm__ volatile("ldtilecfg %0" : : "m"(config));
  }

  // Leaves nothing for the system to save when threads change.
  static void release() { __asm__ volatile("tilerelease"); }

  template <int T>
  static inline __attribute__((always_inline)) void zero() {
    __asm__ volatile("tilezero %%tmm%c0" : : "i"(T));
  }

  template <int T>
  static inline __attribute__((always_inline)) void load(const void* from, std::ptrdiff_t stride) {
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(from), "r"(stride), "i"(T) : "memory");
  }

  template <int T>
  static inline __attribute__((always_inline)) void store(void* to, std::ptrdiff_t stride) {
    __asm__ volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(to), "r"(stride), "i"(T) : "memory");
  }

  // sums[row][column] += signed bytes of a's row times those of b's column, four of them a step
  template <int Sums, int A, int B>
  static inline __attribute__((always_inline)) void addProducts() {
    __asm__ volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(Sums), "i"(A), "i"(B));
  }

  // The same of bf16, two of them a step, into float sums.
  template <int Sums, int A, int B>
  static inline __attribute__((always_inline)) void addBf16Products() {
    __asm__ volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(Sums), "i"(A), "i"(B));
  }
};

}  // namespace

}  // namespace kernels::cpu
