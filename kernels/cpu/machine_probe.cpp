#include "kernels/cpu/machine_probe.h"

#include <emmintrin.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <vector>

#include "kernels/cpu/huge_arena.h"
#include "kernels/cpu/thread_pool.h"
#include "kernels/cpu/tile_config.h"

namespace kernels::cpu {

namespace {

constexpr int kPasses = 5;

// Nanoseconds that the calling thread has been running: what other programs take does not count.
double threadNs() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

// What all threads together do a second: the sum over the threads, each by its own running time,
// of the best pass. The first pass, which wakes everything up, counts nothing.
//   amount  what one call of `work` does
template <typename Work>
double bestRate(ThreadPool& pool, int numItems, double amount, Work&& work) {
  struct alignas(64) Done {
    double amount = 0, ns = 0;
  };

  double best = 0;
  for (int pass = 0; pass <= kPasses; ++pass) {
    std::vector<Done> done(static_cast<std::size_t>(pool.numThreads()));
    pool.run(numItems, [&](int item, int thread) {
      const double beginNs = threadNs();
      work(item);
      Done& mine = done[static_cast<std::size_t>(thread)];
      mine.ns += threadNs() - beginNs;
      mine.amount += amount;
    });
    double rate = 0;
    for (const Done& one : done) rate += one.ns > 0 ? one.amount / one.ns * 1e9 : 0.0;
    if (pass > 0) best = std::max(best, rate);
  }
  return best;
}

// All bits of the bytes combined, so that every one has to be read.
//   bytes  16-byte aligned; a multiple of 64 of them
std::uint64_t readAll(const std::byte* bytes, std::size_t count) {
  __m128i lanes[4] = {};
  const auto* at = reinterpret_cast<const __m128i*>(bytes);
  for (std::size_t i = 0; i < count / 16; i += 4) {
    for (std::size_t j = 0; j < 4; ++j)
      lanes[j] = _mm_xor_si128(lanes[j], _mm_load_si128(at + i + j));
  }
  const __m128i sum =
      _mm_xor_si128(_mm_xor_si128(lanes[0], lanes[1]), _mm_xor_si128(lanes[2], lanes[3]));
  return static_cast<std::uint64_t>(_mm_cvtsi128_si64(sum));
}

// clang-format off
#define TWELVE(op, a, b) __asm__ volatile(                                                        \
    op " " a "," b "0\n" op " " a "," b "1\n" op " " a "," b "2\n" op " " a "," b "3\n"           \
    op " " a "," b "4\n" op " " a "," b "5\n" op " " a "," b "6\n" op " " a "," b "7\n"           \
    op " " a "," b "8\n" op " " a "," b "9\n" op " " a "," b "10\n" op " " a "," b "11\n"         \
    ::: "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",  \
        "xmm11")

// clang-format on

// Twelve independent sums hide the latency of each. Written out, so that this file itself needs no
// more than the base instruction set.
void multiplyInt8(Isa isa, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    if (isa == Isa::Avx512Vnni) {
      TWELVE("vpdpbusd", "%%zmm30,%%zmm31", "%%zmm");
    } else if (isa == Isa::AvxVnni) {
      TWELVE("%{vex%} vpdpbusd", "%%ymm14,%%ymm15", "%%ymm");
    } else {
      TWELVE("vpmaddubsw", "%%ymm14,%%ymm15", "%%ymm");
    }
  }
  __asm__ volatile("vzeroupper");
}

#undef TWELVE

// Four independent tiles of sums, 16 rows x 64 bytes x 16 columns each.
void multiplyInt8Tiles(int rounds) {
  TileConfig config;
  for (int tile = 0; tile < 6; ++tile) {
    config.rows[tile] = 16;
    config.columnBytes[tile] = 64;
  }
  __asm__ volatile("ldtilecfg %0" : : "m"(config));
  for (int i = 0; i < rounds; ++i) {
    __asm__ volatile(
        "tdpbssd %tmm5,%tmm4,%tmm0\n tdpbssd %tmm5,%tmm4,%tmm1\n"
        "tdpbssd %tmm5,%tmm4,%tmm2\n tdpbssd %tmm5,%tmm4,%tmm3");
  }
  __asm__ volatile("tilerelease");
}

}  // namespace

std::optional<double> measureReadBandwidth(int threads) {
  constexpr std::size_t kBytes = std::size_t{256} << 20, kPiece = std::size_t{1} << 20;
  HugeArena arena;
  if (!arena.reserve(kBytes)) return std::nullopt;
  std::byte* bytes = arena.allocate(kBytes);
  std::memset(bytes, 1, kBytes);  // untouched pages would all be the one page of zeros
  ThreadPool pool(threads);
  std::atomic<std::uint64_t> sink{0};
  return bestRate(pool, static_cast<int>(kBytes / kPiece), kPiece, [&](int piece) {
    sink ^= readAll(bytes + static_cast<std::size_t>(piece) * kPiece, kPiece);
  });
}

std::optional<double> measureInt8Peak(Isa isa, int threads) {
  const auto isas = supportedIsas();
  if (std::find(isas.begin(), isas.end(), isa) == isas.end()) return std::nullopt;
  constexpr int kRounds = 20000, kItemsPerThread = 16;
  ThreadPool pool(threads);
  if (isa == Isa::Amx || isa == Isa::AmxBf16) {
    constexpr double kOpsPerTile = 2.0 * 16 * 16 * 64;
    return bestRate(pool, threads * kItemsPerThread, 4.0 * kRounds * kOpsPerTile,
                    [](int) { multiplyInt8Tiles(kRounds); });
  }
  const double opsPerInstruction = isa == Isa::Avx512Vnni ? 128 : 64;
  return bestRate(pool, threads * kItemsPerThread, 12.0 * kRounds * opsPerInstruction,
                  [isa](int) { multiplyInt8(isa, kRounds); });
}

}  // namespace kernels::cpu
