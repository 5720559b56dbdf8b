// Speed of the element-wise kernels in GB/s of what they read and write, on rows that stay in L1,
// with the share of the read bandwidth of one core beside it: far above 100 % means that they cost
// nothing next to the products.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <string>
#include <vector>

#include "kernels/cpu/isa.h"
#include "kernels/cpu/machine_probe.h"
#include "kernels/cpu/row_kernels.h"
#include "tests/kernels/cpu/matmul_fixture.h"

namespace {

using namespace kernels::cpu;

constexpr int kSize = 1536;
double g_readGBs;

// One row's arrays, all of them as long as the row.
struct Row {
  std::vector<float> x = fixture::randomActivations(1, kSize, 1);
  std::vector<float> y = fixture::randomActivations(1, kSize, 2);
  std::vector<float> out = std::vector<float>(kSize);
  std::vector<std::uint16_t> halves = std::vector<std::uint16_t>(kSize);
};

// arrays: how many of the row's arrays a call reads or writes
template <typename Work>
void registerOne(const std::string& name, double arrays, Work work) {
  benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
    Row row;
    for (auto _ : state) {
      work(row);
      benchmark::ClobberMemory();
    }
    const double bytes = arrays * 4 * kSize * static_cast<double>(state.iterations());
    using benchmark::Counter;
    state.counters["GB/s"] = Counter(bytes / 1e9, Counter::kIsRate);
    state.counters["read%"] = Counter(100 * bytes / 1e9 / g_readGBs, Counter::kIsRate);
  });
}

void registerTable(const std::string& isa, const RowKernels& table) {
  const RowKernels* k = &table;
  registerOne("rmsNorm/" + isa, 3,
              [k](Row& r) { k->rmsNorm(r.x.data(), r.y.data(), kSize, 1e-5f, r.out.data()); });
  registerOne("add/" + isa, 3, [k](Row& r) { k->add(r.out.data(), r.y.data(), kSize); });
  registerOne("siluGate/" + isa, 3,
              [k](Row& r) { k->siluGate(r.x.data(), r.y.data(), kSize, r.out.data()); });
  registerOne("geluGate/" + isa, 3,
              [k](Row& r) { k->geluGate(r.x.data(), r.y.data(), kSize, r.out.data()); });
  registerOne("softCap/" + isa, 2, [k](Row& r) { k->softCap(r.x.data(), 30.0f, kSize); });
  registerOne("toBf16/" + isa, 1.5, [k](Row& r) { k->toBf16(r.x.data(), kSize, r.halves.data()); });
  registerOne("toF16/" + isa, 1.5, [k](Row& r) { k->toF16(r.x.data(), kSize, r.halves.data()); });
  // a head at a time, as the epilogue of q and k does
  registerOne("rope/" + isa, 2, [k](Row& r) {
    HeadJob job;
    job.headDim = 64;
    job.numPairs = 32;
    job.cosines = r.y.data();
    job.sines = r.y.data() + job.numPairs;
    for (int i = 0; i < kSize; i += job.headDim) k->finishHead(job, r.x.data() + i);
  });
}

}  // namespace

int main(int argc, char** argv) {
  g_readGBs = measureReadBandwidth(1).value_or(0) / 1e9;
  std::printf("one core: read %.1f GB/s\n", g_readGBs);
  benchmark::Initialize(&argc, argv);
  for (const Isa isa : supportedIsas()) {
    if (isa == Isa::Avx2) registerTable(isaName(isa), kAvx2RowKernels);
    if (isa == Isa::Avx512Vnni) registerTable(isaName(isa), kAvx512VnniRowKernels);
  }
  benchmark::RunSpecifiedBenchmarks();
}
