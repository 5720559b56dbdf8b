#include "kernels/cpu/machine_probe.h"

#include <emmintrin.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>

#include "kernels/cpu/huge_arena.h"
#include "kernels/cpu/thread_pool.h"

namespace kernels::cpu {

namespace {

constexpr int kPasses = 5;

// Of the fastest pass; the first one, which brings in pages, counts nothing.
template <typename Fn>
double bestSeconds(Fn&& pass) {
  pass();
  double best = 1e300;
  for (int i = 0; i < kPasses; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    pass();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    best = std::min(best, took.count());
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

}  // namespace

std::optional<double> measureReadBandwidth(int threads) {
  constexpr std::size_t kBytes = std::size_t{256} << 20, kPiece = std::size_t{1} << 20;
  HugeArena arena;
  if (!arena.reserve(kBytes)) return std::nullopt;
  std::byte* bytes = arena.allocate(kBytes);
  std::memset(bytes, 1, kBytes);  // untouched pages would all be the one page of zeros
  ThreadPool pool(threads);
  std::atomic<std::uint64_t> sink{0};
  const double seconds = bestSeconds([&] {
    pool.run(static_cast<int>(kBytes / kPiece), [&](int piece, int) {
      sink ^= readAll(bytes + static_cast<std::size_t>(piece) * kPiece, kPiece);
    });
  });
  return static_cast<double>(kBytes) / seconds;
}

std::optional<double> measureInt8Peak(Isa isa, int threads) {
  if (isa == Isa::Amx) return std::nullopt;
  constexpr int kRounds = 20000, kItemsPerThread = 16;
  ThreadPool pool(threads);
  const int numItems = threads * kItemsPerThread;
  const double seconds =
      bestSeconds([&] { pool.run(numItems, [isa](int, int) { multiplyInt8(isa, kRounds); }); });
  const double opsPerInstruction = isa == Isa::Avx512Vnni ? 128 : 64;
  return 12.0 * kRounds * numItems * opsPerInstruction / seconds;
}

}  // namespace kernels::cpu
