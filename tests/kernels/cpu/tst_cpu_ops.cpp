// labels: threads timed
#include "kernels/cpu/cpu_ops.h"

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <thread>

#include <QtTest>

#include "kernels/core/request_check.h"
#include "tests/kernels/tiny_decoder.h"
#include "tests/support/sanitized.h"

using namespace tests;
using kernels::BackendResult;
using kernels::DType;
using kernels::KvType;
using kernels::Outcome;
using kernels::cpu::Isa;

namespace {

// |a - b| / |b| over all values.
double relativeError(const std::vector<float>& a, const std::vector<float>& b) {
  double error = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
    error += (x - y) * (x - y);
    size += y * y;
  }
  return std::sqrt(error / size);
}

}  // namespace

class CpuOpsTest : public QObject {
  Q_OBJECT

 private slots:

  void agreesWithTheReference_data() {
    QTest::addColumn<TinyShape>("shape");
    QTest::addColumn<int>("kv");
    const auto row = [](const char* name, TinyShape shape, KvType kv) {
      QTest::newRow(name) << shape << static_cast<int>(kv);
    };
    row("llama f32", {}, KvType::F32);
    row("llama q8_0", {.type = DType::Q8_0}, KvType::F32);
    row("llama q4_1, f16 kv", {.type = DType::Q4_1}, KvType::F16);
    row("llama q4_1, bf16 kv", {.type = DType::Q4_1}, KvType::BF16);
    row("wide heads, q8_0", {.numHeads = 2, .numKvHeads = 1, .headDim = 256, .type = DType::Q8_0},
        KvType::BF16);
    row("interleaved rope", {.isInterleaved = true}, KvType::F32);
    row("qwen: 7 heads a group, biases", {.numHeads = 14, .hasBias = true}, KvType::F16);
    row("gemma: norms, windows, gelu",
        {.numHeads = 3, .numKvHeads = 3, .window = 7, .isGemma = true}, KvType::F32);
    row("soft caps", {.attentionSoftCap = 1.5f, .finalSoftCap = 2.0f}, KvType::F32);
    row("head of 80", {.headDim = 80}, KvType::BF16);
    row("head of 40, 3 heads share", {.numHeads = 12, .numKvHeads = 4, .headDim = 40}, KvType::F16);
    row("rows that are not whole groups",
        {.hidden = 50, .numHeads = 3, .numKvHeads = 3, .headDim = 22, .ffn = 77}, KvType::F32);
    row("some rows whole, some not",
        {.hidden = 64, .numHeads = 3, .numKvHeads = 1, .headDim = 40, .ffn = 84,
         .type = DType::Q8_0}, KvType::BF16);
    row("head of 16, odd unit", {.numHeads = 6, .numKvHeads = 3, .headDim = 16}, KvType::F16);
    for (const KvType type : {KvType::Fp8E4M3, KvType::Int8, KvType::Int4}) {
      for (const int headDim : {40, 64, 80, 96, 112, 128, 256}) {
        QTest::addRow("%s, head of %d", kernels::kvTypeName(type), headDim)
            << TinyShape{.numHeads = 8, .headDim = headDim, .hasBias = true}
            << static_cast<int>(type);
      }
      QTest::addRow("%s, gemma", kernels::kvTypeName(type))
          << TinyShape{.numHeads = 3, .numKvHeads = 3, .window = 7, .isGemma = true,
                       .attentionSoftCap = 1.5f, .type = DType::Q8_0}
          << static_cast<int>(type);
    }
  }

  void agreesWithTheReference() {
    QFETCH(TinyShape, shape);
    QFETCH(int, kv);
    const TinyDecoder decoder(shape);
    for (const Isa isa : kernels::cpu::supportedIsas()) {
      const auto request = decoder.request(static_cast<KvType>(kv), 16, 12, 2);
      const BackendResult fast = kernels::cpu::createOps(request, isa);
      QVERIFY2(fast.ops, fast.status.message.c_str());
      const BackendResult plain = kernels::reference::createOps(request);
      TinySequence a{randomTokens(90, 67, 5), blockRun(6, 3, 5, 12)}, b = a;
      for (const int rows : {70, 1, 1, 18}) {
        std::vector<float> got, expected;
        QVERIFY(runStep(*fast.ops, decoder, {{&a, rows}}, got).isOk());
        QVERIFY(runStep(*plain.ops, decoder, {{&b, rows}}, expected).isOk());
        const double error = relativeError(got, expected);
        // int8 activations: one part in 254 of a group's largest value at each of 8 products
        // where the last bit tips a value to its other neighbour, a cache differs by a whole step
        const double step = kv == static_cast<int>(KvType::Int4) ? 5e-2 : 1e-2;
        const double limit = shape.type == DType::F32 ? (kv == 0 ? 1e-5 : step) : 3e-2 + step;
        QVERIFY2(error < limit, qPrintable(QString("%1 rows: %2").arg(rows).arg(error)));
      }
    }
  }

  void cannotRunIsSaidByName() {
    const TinyDecoder decoder(TinyShape{});
    const auto isas = kernels::cpu::supportedIsas();
    if (isas.empty()) QSKIP("no vector kernels on this processor");
    auto request = decoder.request(KvType::F32, 16, std::int64_t{1} << 30, 1);
    request.layout.blockSize = 1 << 20;
    QCOMPARE(kernels::cpu::createOps(request, isas.front()).status.outcome, Outcome::OutOfMemory);
    const TinyDecoder odd(TinyShape{.headDim = 41});
    const BackendResult result =
        kernels::cpu::createOps(odd.request(KvType::F32, 16, 4, 1), isas.front());
    QCOMPARE(result.status.outcome, Outcome::Unsupported);
    QVERIFY2(result.status.message.find("41") != std::string::npos, result.status.message.c_str());
  }

  void aLargePoolCostsNothingUntilItIsUsed() {
    const auto isas = kernels::cpu::supportedIsas();
    if (isas.empty()) QSKIP("no vector kernels on this processor");
    const TinyDecoder decoder(TinyShape{});
    const std::int64_t before = residentBytes();
    const BackendResult result =  // 16 GiB of blocks
        kernels::cpu::createOps(decoder.request(KvType::F32, 16, 1 << 18, 1), isas.front());
    QVERIFY2(result.ops, result.status.message.c_str());
    QVERIFY(result.ops->info().kvBytes >= std::size_t{8} << 30);
    QVERIFY(residentBytes() - before < 64 << 20);
    TinySequence sequence{randomTokens(20, 67, 1), {7, 200000}};
    std::vector<float> logits;
    QVERIFY(runStep(*result.ops, decoder, {{&sequence, 20}}, logits).isOk());
  }

  void progressEndsAtOne() {
    const auto isas = kernels::cpu::supportedIsas();
    if (isas.empty()) QSKIP("no vector kernels on this processor");
    const TinyDecoder decoder(TinyShape{});
    auto request = decoder.request(KvType::BF16, 16, 4, 2);
    std::vector<double> seen;
    request.progress = [&seen](double part) { seen.push_back(part); };
    QVERIFY(kernels::cpu::createOps(request, isas.front()).ops);
    QVERIFY(!seen.empty() && std::is_sorted(seen.begin(), seen.end()) && seen.back() == 1.0);
    const std::atomic<bool> cancel{true};
    request.cancel = &cancel;
    const BackendResult cancelled = kernels::cpu::createOps(request, isas.front());
    QCOMPARE(cancelled.status.outcome, Outcome::Cancelled);
    QVERIFY(!cancelled.ops);
  }

  void itemsSharedOutRunOnceEachOnThreadsThatThereAre() {
    const auto isas = kernels::cpu::supportedIsas();
    if (isas.empty()) QSKIP("no vector kernels on this processor");
    const TinyDecoder decoder(TinyShape{});
    for (const int numThreads : {1, 3}) {
      auto request = decoder.request(KvType::BF16, 16, 4, 2);
      request.threads = numThreads;
      const BackendResult result = kernels::cpu::createOps(request, isas.front());
      QCOMPARE(result.ops->info().threads, numThreads);
      for (const int count : {0, 1, 50}) {
        std::vector<std::atomic<int>> runs(static_cast<std::size_t>(count));
        std::atomic<int> numStrange{0};
        result.ops->shareOut(count, [&](int item, int thread) {
          if (thread < 0 || thread >= numThreads) ++numStrange;
          ++runs[static_cast<std::size_t>(item)];
        });
        QCOMPARE(numStrange.load(), 0);
        QVERIFY(std::ranges::all_of(runs, [](const auto& times) { return times == 1; }));
      }
    }
  }

  void countersTellWhatTheOtherThreadsDid() {
    const auto isas = kernels::cpu::supportedIsas();
    if (isas.empty()) QSKIP("no vector kernels on this processor");
    const TinyDecoder decoder(TinyShape{.numLayers = 1});
    auto request = decoder.request(KvType::BF16, 16, 4, 2);
    request.threads = 2;
    const BackendResult result = kernels::cpu::createOps(request, isas.front());
    kernels::OpsCounters counters = result.ops->takeCounters();
    QCOMPARE(counters.helpNs, 0.0);  // loading is no step
    QCOMPARE(counters.waitNs, 0.0);
    // Again where the system itself kept the caller away until the other thread had ended.
    for (int attempt = 0; attempt < 100 && counters.waitNs == 0.0; ++attempt) {
      std::atomic<int> arrived{0};
      result.ops->shareOut(2, [&](int, int thread) {  // each waits for the other: two threads
        arrived.fetch_add(1);
        while (arrived.load() < 2) std::this_thread::yield();
        if (thread != 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      });
      counters = result.ops->takeCounters();
      QVERIFY(counters.helpNs >= 2e6);
    }
    QVERIFY(counters.waitNs > 0);
    QCOMPARE(result.ops->takeCounters().helpNs, 0.0);
  }

  void cancelComesThroughWithin50ms() {
    const auto isas = kernels::cpu::supportedIsas();
    if (isas.empty()) QSKIP("no vector kernels on this processor");
    const TinyDecoder decoder(TinyShape{
        .numLayers = 8, .hidden = 1024, .numHeads = 16, .ffn = 4096, .type = DType::Q8_0});
    const BackendResult result =
        kernels::cpu::createOps(decoder.request(KvType::BF16, 16, 64, 2), isas.front());
    // The best of five: another program may hold this one up for longer than an item takes.
    std::chrono::duration<double, std::milli> best = std::chrono::hours(1);
    for (int turn = 0; turn < 5; ++turn) {
      TinySequence sequence{randomTokens(1000, 67, 1), blockRun(63)};
      std::atomic<bool> cancel{false};
      std::chrono::steady_clock::time_point raised;
      std::thread user([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(10 + 5 * turn));
        raised = std::chrono::steady_clock::now();
        cancel = true;
      });
      std::vector<float> logits;
      const kernels::Status status =
          runStep(*result.ops, decoder, {{&sequence, 1000}}, logits, &cancel);
      const auto ended = std::chrono::steady_clock::now();
      user.join();
      QCOMPARE(status.outcome, Outcome::Cancelled);
      best = std::min<std::chrono::duration<double, std::milli>>(best, ended - raised);
    }
    QVERIFY2(best.count() < test_support::deadlineMs(50), qPrintable(QString::number(best.count())));
  }

 private:
  static std::int64_t residentBytes() {
    QFile file("/proc/self/statm");
    if (!file.open(QIODevice::ReadOnly)) return 0;
    return file.readAll().split(' ').value(1).toLongLong() * 4096;
  }
};

QTEST_GUILESS_MAIN(CpuOpsTest)
#include "tst_cpu_ops.moc"
