// An engine service over the toy model, invariants checked after every step, with a client before
// it.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>

#include "engine/service/engine_service.h"
#include "tests/support/engine_client.h"
#include "tests/support/fake_model.h"

namespace test_support {

struct ServiceBench {
  std::shared_ptr<FakeControl> control = std::make_shared<FakeControl>();
  EngineClient client;

  ServiceBench() : client(make(control)) {}

  static std::unique_ptr<engine::EngineHandle> make(std::shared_ptr<FakeControl> control) {
    engine::service::EngineOptions options;
    options.checkInvariants = true;
    return engine::service::createEngineService(
        {std::make_shared<FakeModelProvider>(std::move(control)), nullptr}, options);
  }

  bool load(std::int64_t kvBlocks = 64, int blockSize = 4, const std::string& path = "toy") {
    engine::EngineConfig config;
    config.load.modelPath = path;
    config.load.kvBlocks = kvBlocks;
    config.load.blockSize = blockSize;
    return client.load(config);
  }

  // Everything given back, and every request told its end exactly once.
  bool comesToRest() {
    if (!client.waitForAll() || !client.waitForState(engine::EngineState::Idle)) return false;
    const auto isAllGivenBack = [this] {
      const auto snapshot = client.snapshot();
      return snapshot->state == engine::EngineState::Idle && snapshot->pool &&
             snapshot->pool->usedBlocks == 0 &&
             snapshot->counters.leakedBlocks == 0;
    };
    if (!client.waitFor(isAllGivenBack)) return false;
    for (const auto& [id, request] : client.requests()) {
      if (request.numFinished != 1) return false;
    }
    return true;
  }
};

inline engine::SamplingParams greedy(std::int64_t maxTokens) {
  engine::SamplingParams params;
  params.maxTokens = maxTokens;
  return params;
}

// Every part of the sampler that remembers something is at work.
inline engine::SamplingParams seeded(std::int64_t maxTokens, std::uint64_t seed) {
  engine::SamplingParams params = greedy(maxTokens);
  params.temperature = 0.8f;
  params.seed = seed;
  params.repetitionPenalty = 1.2f;
  params.presencePenalty = 0.3f;
  return params;
}

inline double msSince(std::chrono::steady_clock::time_point t0) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - t0).count();
}

}  // namespace test_support
