// Speed of packing, quantising and multiplying, per weight format and row count, against what one
// core of this machine can do: GOP/s (2 * M * N * K) with its share of the int8 peak, and GB/s of
// packed weights with its share of the read bandwidth, both of the fastest run. One thread; the
// weights are much larger than L2.
#include <benchmark/benchmark.h>

#include <time.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "kernels/cpu/isa.h"
#include "kernels/cpu/machine_probe.h"
#include "kernels/cpu/matmul.h"
#include "tests/kernels/cpu/matmul_fixture.h"

namespace {

using namespace kernels::cpu;
using kernels::DType;

constexpr int kCols = 2048, kColumns = 512, kCopies = 64;
constexpr int kMaxRows = 512;

// Of this thread only: other programs take time, too.
double threadSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Copies {
  HugeArena arena;
  std::vector<PackedMatrix> matrices;
};

Copies packCopies(DType type, CodeOrder order) {
  const fixture::Weights weights = fixture::randomWeights(type, kColumns, kCols, 1);
  Copies out;
  ThreadPool pool(1);
  const std::size_t bytes = PackedMatrix({weights.view}, order).packedBytes();
  out.arena.reserve(bytes * kCopies);
  for (int i = 0; i < kCopies; ++i) {
    out.matrices.emplace_back(std::vector{weights.view}, order);
    if (!out.matrices.back().pack(out.arena.allocate(bytes), pool).isOk()) std::abort();
  }
  return out;
}

double g_peakGops[5], g_readGBs;

void multiply(benchmark::State& state, Isa isa, DType type) {
  const int numRows = static_cast<int>(state.range(0));
  const Matmul matmul(isa);
  const std::pair wanted(type, matmul.codeOrder());
  static std::pair<DType, CodeOrder> packed{};
  static std::unique_ptr<Copies> copies;  // of what was measured last
  if (!copies || packed != wanted) {
    copies = std::make_unique<Copies>(packCopies(type, matmul.codeOrder()));
  }
  packed = wanted;
  QuantizedRows rows;
  if (!rows.reserve(numRows, kCols, KeepFloats::Yes, matmul.rowForm()).isOk()) std::abort();
  rows.setShape(numRows, kCols);
  const std::vector<float> x = fixture::randomActivations(numRows, kCols, 2);
  for (int r = 0; r < numRows; ++r) matmul.quantizeRow(x.data() + r * kCols, rows, r);
  std::vector<float> out(static_cast<std::size_t>(numRows) * kColumns);
  std::size_t copy = 0;
  double best = 1e9;
  for (auto _ : state) {
    const PackedMatrix& matrix = copies->matrices[copy++ % kCopies];
    const double start = threadSeconds();
    matmul.multiplyTiles(matrix, rows, {0, numRows, 0, matrix.numTiles()}, out.data(), kColumns);
    best = std::min(best, threadSeconds() - start);
    benchmark::DoNotOptimize(out.data());
  }
  const double gops = 2.0 * numRows * kColumns * kCols / best / 1e9;
  const double gigabytes = static_cast<double>(copies->matrices[0].packedBytes()) / best / 1e9;
  state.counters["GOP/s"] = gops;
  state.counters["peak%"] = 100.0 * gops / g_peakGops[static_cast<int>(isa)];
  state.counters["GB/s"] = gigabytes;
  state.counters["read%"] = 100.0 * gigabytes / g_readGBs;
}

void quantize(benchmark::State& state, Isa isa) {
  const Matmul matmul(isa);
  QuantizedRows rows;
  if (!rows.reserve(1, kCols, KeepFloats::No, matmul.rowForm()).isOk()) std::abort();
  rows.setShape(1, kCols);
  const std::vector<float> x = fixture::randomActivations(1, kCols, 2);
  for (auto _ : state) {
    matmul.quantizeRow(x.data(), rows, 0);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * kCols);
}

void pack(benchmark::State& state, DType type, CodeOrder order) {
  const fixture::Weights weights = fixture::randomWeights(type, kColumns, kCols, 1);
  ThreadPool pool(1);
  HugeArena arena;
  arena.reserve(PackedMatrix({weights.view}, order).packedBytes());
  std::byte* memory = arena.allocate(arena.capacity());
  for (auto _ : state) {
    PackedMatrix matrix({weights.view}, order);
    if (!matrix.pack(memory, pool).isOk()) std::abort();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(weights.bytes.size()));
}

void registerAll() {
  for (Isa isa : supportedIsas()) {
    const std::string name = isaName(isa);
    for (int t = 0; t < kernels::kNumDTypes; ++t) {
      const auto type = static_cast<DType>(t);
      auto* run = benchmark::RegisterBenchmark(
          ("multiply/" + name + "/" + kernels::dtypeInfo(type).name).c_str(),
          [isa, type](benchmark::State& state) { multiply(state, isa, type); });
      for (int rows : {1, 2, 4, 5, 6, 8, 12, 16, 32, 64, 128, kMaxRows}) run->Arg(rows);
    }
    benchmark::RegisterBenchmark(("quantize/" + name).c_str(),
                                 [isa](benchmark::State& state) { quantize(state, isa); });
  }
  for (int t = 0; t < kernels::kNumDTypes; ++t) {
    const auto type = static_cast<DType>(t);
    const std::string name = std::string("/") + kernels::dtypeInfo(type).name;
    for (const auto& [orderName, order] : {std::pair("pack", CodeOrder::ByStep),
                                           std::pair("pack_by_pair", CodeOrder::ByPair)}) {
      benchmark::RegisterBenchmark(
          (orderName + name).c_str(),
          [type, order = order](benchmark::State& state) { pack(state, type, order); });
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  g_readGBs = measureReadBandwidth(1).value_or(0) / 1e9;
  std::printf("one core: read %.1f GB/s", g_readGBs);
  for (Isa isa : supportedIsas()) {
    double& peak = g_peakGops[static_cast<int>(isa)];
    peak = measureInt8Peak(isa, 1).value_or(0) / 1e9;
    std::printf(", %s %.0f GOP/s", isaName(isa), peak);
  }
  std::printf("\n");
  benchmark::Initialize(&argc, argv);
  registerAll();
  benchmark::RunSpecifiedBenchmarks();
}
