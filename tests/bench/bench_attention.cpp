// Speed of attention by one thread, in GFLOP/s of its two products and in GB/s of the keys and
// values it reads, with the share of one core's read bandwidth beside it. Decode reads a cache that
// no core's own memory holds; 48 rows of a prompt read each step once for all of them.
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "kernels/cpu/attention.h"
#include "kernels/cpu/huge_arena.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/kv_pool.h"
#include "kernels/cpu/machine_probe.h"
#include "tests/kernels/cpu/matmul_fixture.h"

namespace {

using namespace kernels;
using namespace kernels::cpu;

constexpr int kHeadDim = 64, kGroup = 3, kLayers = 30, kBlockSize = 16;
double g_readGBs;

// One sequence's cache over all layers of a small model, its blocks out of order.
struct Cache {
  explicit Cache(int context) {
    KvLayout layout;
    layout.type = KvType::BF16;
    layout.numLayers = kLayers;
    layout.numKvHeads = 1;
    layout.headDim = kHeadDim;
    layout.blockSize = kBlockSize;
    layout.numBlocks = context / kBlockSize;
    if (!pool.reserve(layout).isOk()) std::abort();
    for (int i = 0; i < layout.numBlocks; ++i) table.push_back((i * 7 + 3) % layout.numBlocks);
    const std::vector<float> values = fixture::randomActivations(1, kHeadDim, 1);
    std::vector<std::uint16_t> elements;
    for (const float value : values) elements.push_back(bf16OfFloat(value));
    for (int layer = 0; layer < kLayers; ++layer) {
      for (int position = 0; position < context; ++position) {
        const std::int32_t block = table[static_cast<std::size_t>(position / kBlockSize)];
        pool.storeKey(layer, 0, block, position % kBlockSize, elements.data());
        pool.storeValue(layer, 0, block, position % kBlockSize, elements.data());
      }
    }
  }

  KvPool pool;
  std::vector<std::int32_t> table;
};

void attend(benchmark::State& state, const AttentionKernels& kernels, int context, int numQueries) {
  Cache cache(context);
  const std::size_t rows = static_cast<std::size_t>(numQueries * kGroup);
  const std::vector<float> queries = fixture::randomActivations(static_cast<int>(rows), kHeadDim, 2);
  std::vector<float> out(rows * kHeadDim);
  HugeArena arena;
  if (!arena.reserve(attentionScratchBytes(kHeadDim))) std::abort();
  std::byte* scratch = arena.allocate(attentionScratchBytes(kHeadDim));
  AttentionItem item;
  item.blockTable = cache.table.data();
  item.queries = queries.data();
  item.out = out.data();
  item.queryStride = item.outStride = kGroup * kHeadDim;
  item.numQueries = numQueries;
  item.headsPerKv = kGroup;
  item.firstPosition = context - numQueries;
  item.scale = 1.0f / std::sqrt(static_cast<float>(kHeadDim));
  int layer = 0;
  for (auto _ : state) {
    item.planes = cache.pool.planes(layer, 0);
    layer = (layer + 1) % kLayers;
    kernels.attend(item, scratch);
    benchmark::ClobberMemory();
  }
  const double steps = static_cast<double>(state.iterations());
  const double pairs = static_cast<double>(rows) * (context - 0.5 * (numQueries - 1));
  const double bytes = 2.0 * 2.0 * kHeadDim * context * steps;
  using benchmark::Counter;
  state.counters["GFLOP/s"] = Counter(4e-9 * pairs * kHeadDim * steps, Counter::kIsRate);
  state.counters["GB/s"] = Counter(bytes / 1e9, Counter::kIsRate);
  state.counters["read%"] = Counter(100 * bytes / 1e9 / g_readGBs, Counter::kIsRate);
}

void registerTable(const std::string& name, const AttentionKernels& kernels) {
  const AttentionKernels* table = &kernels;
  for (const auto& [work, context, numQueries] :
       {std::tuple{"decode", 4096, 1}, {"verify", 4096, 5}, {"prefill", 2048, 16}}) {
    benchmark::RegisterBenchmark(
        (std::string(work) + "/" + name).c_str(),
        [table, context = context, numQueries = numQueries](benchmark::State& state) {
          attend(state, *table, context, numQueries);
        });
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto bandwidth = measureReadBandwidth(1);
  g_readGBs = bandwidth.value_or(0) / 1e9;
  std::printf("one core reads %.1f GB/s\n", g_readGBs);
  for (const Isa isa : supportedIsas()) {
    if (isa == Isa::Avx2) registerTable("avx2", kAvx2Attention);
    if (isa == Isa::Avx512Vnni) {
      registerTable("avx512vnni", kAvx512VnniAttention);
      if (hasPairDots()) registerTable("avx512 with bf16", kAvx512Bf16Attention);
    }
    if (isa == Isa::Amx) registerTable("amx", kAmxAttention);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
