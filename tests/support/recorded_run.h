// A small run over the toy model, recorded to a file: shared prefixes, sampled answers, a refusal
// and, with few blocks, preemption.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "engine/trace/recording_handle.h"
#include "tests/support/service_bench.h"

namespace test_support {

struct RecordedRun {
  EngineClient client;

  explicit RecordedRun(const std::string& path) : client(make(path)) {}

  static std::unique_ptr<engine::EngineHandle> make(const std::string& path) {
    auto recorded = engine::trace::recordEngine(ServiceBench::make(std::make_shared<FakeControl>()),
                                                path, "test");
    return std::move(recorded).value();
  }

  // All requests start in one step, so that nothing depends on who is faster. The file is whole
  // once this object is gone.
  bool play(std::int64_t kvBlocks = 64, int numRequests = 6, std::uint64_t seed = 1) {
    engine::EngineConfig config;
    config.load.modelPath = "toy";
    config.load.kvBlocks = kvBlocks;
    config.load.blockSize = 4;
    if (!client.load(config)) return false;
    client.send(engine::Pause{});
    for (int i = 0; i < numRequests; ++i) {
      engine::RequestSpec spec = textRequest("a shared beginning, then " + std::to_string(i),
                                             seeded(12 + i, seed + static_cast<std::uint64_t>(i)));
      spec.label = "user " + std::to_string(i);
      client.submit(spec);
    }
    engine::RequestSpec tooLong = textRequest(std::string(400, 'x'), greedy(4));
    tooLong.label = "too \"long\", by far";
    client.submit(tooLong);
    client.send(engine::Resume{});
    return client.waitForAll() && client.waitForState(engine::EngineState::Idle);
  }
};

}  // namespace test_support
