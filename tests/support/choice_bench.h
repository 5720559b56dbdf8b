// Requests with several answers over the toy model, under limits that a test chooses.
#pragma once

#include <string>
#include <vector>

#include <QtTest>

#include "tests/support/service_bench.h"

namespace test_support {

inline engine::RequestSpec asking(const std::string& prompt, engine::SamplingParams params, int n) {
  params.n = n;
  engine::RequestSpec spec = textRequest(prompt, params);
  spec.wantRowHashes = true;
  return spec;
}

inline engine::SamplingParams beams(int width, std::int64_t maxTokens) {
  engine::SamplingParams params = greedy(maxTokens);
  params.beamWidth = width;
  return params;
}

inline bool isSame(const ClientAnswer& a, const ClientAnswer& b) {
  return a.ids == b.ids && a.text == b.text && a.logprobs == b.logprobs &&
         a.rowHashes == b.rowHashes;
}

inline std::vector<ClientAnswer> answersOf(const ClientRequest& request) {
  std::vector<ClientAnswer> all = {request};
  all.insert(all.end(), request.others.begin(), request.others.end());
  return all;
}

inline double sumOf(const ClientAnswer& answer) {
  double sum = 0;
  for (const float one : answer.logprobs) sum += one;
  return sum;
}

// What a request says under these limits, blocks and batch mates.
struct Serving {
  std::int64_t kvBlocks = 400;
  int blockSize = 4;
  engine::SchedulerLimits limits;
  int mates = 0;
  bool neverEnds = false;
  engine::AllocatorKind allocator = engine::AllocatorKind::Paged;
  bool keepsCache = true;
};

struct Served {
  ClientRequest request;
  engine::EngineCounters counters;
  std::vector<engine::TraceEvent> events;
};

inline Served serve(const engine::RequestSpec& spec, const Serving& how) {
  ServiceBench bench;
  engine::EngineConfig config;
  config.load.modelPath = "toy";
  config.load.kvBlocks = how.kvBlocks;
  config.load.blockSize = how.blockSize;
  config.load.maxContext = 360;
  config.load.allocator = how.allocator;
  config.load.kvCache = how.keepsCache;
  config.limits = how.limits;
  if (!bench.client.load(config)) return {};
  bench.control->neverEnds = how.neverEnds;
  bench.client.send(engine::Pause{});
  const engine::RequestId id = bench.client.submit(spec);
  for (int i = 0; i < how.mates; ++i) {
    bench.client.submit("mate " + std::to_string(i), seeded(40, static_cast<std::uint64_t>(i)));
  }
  bench.client.send(engine::Resume{});
  if (!bench.comesToRest()) return {};
  return {bench.client.request(id), bench.client.snapshot()->counters, bench.client.events};
}

// Equal bit for bit, ends and scores included.
inline void compareAnswers(const Served& one, const Served& other) {
  QVERIFY(one.request.numFinished == 1 && other.request.numFinished == 1);
  const auto a = answersOf(one.request), b = answersOf(other.request);
  QCOMPARE(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    QVERIFY2(isSame(a[i], b[i]), qPrintable(QString("choice %1").arg(i)));
}
  const auto &x = one.request.finished, &y = other.request.finished;
  QCOMPARE(x.choices.size(), y.choices.size());
  for (std::size_t i = 0; i < x.choices.size(); ++i) {
    QVERIFY(x.choices[i].reason == y.choices[i].reason);
    QCOMPARE(x.choices[i].cumulativeLogprob, y.choices[i].cumulativeLogprob);
    QCOMPARE(x.choices[i].score, y.choices[i].score);
}
  QCOMPARE(x.usage.completionTokens, y.usage.completionTokens);
  QVERIFY(x.reason == y.reason);
}

}  // namespace test_support
