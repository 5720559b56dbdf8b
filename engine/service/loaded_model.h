// What it takes to serve a model, and who makes it: opening is quick and may fail without harm to
// the model in place; loading packs weights and takes the memory.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "engine/api/accounting.h"
#include "engine/api/engine_config.h"
#include "engine/api/message.h"
#include "engine/api/request.h"
#include "engine/api/snapshot.h"
#include "engine/base/result.h"
#include "engine/exec/executor.h"
#include "engine/text/origin_text.h"
#include "engine/text/tokenizer.h"

namespace engine::service {

struct LoadedModel {
  std::shared_ptr<const ModelInfo> info;
  std::shared_ptr<const text::Tokenizer> tokenizer;
  // The conversation through its own or the model's chat template. Unsupported when there is none.
  std::function<Result<text::OriginText>(const ChatPrompt&)> renderChat;
  std::unique_ptr<exec::Executor> executor;
  std::unique_ptr<exec::Executor> draft;  // null without a draft model
  std::int64_t draftContext = 0;          // that it was trained for
  accounting::ModelShape shape;  // what its steps cost
};

struct LoadObserver {
  // 0..1 of the stage; bytes of the model's files, 0 until they are known
  std::function<void(const std::string& stage, double fraction, std::int64_t totalBytes)> progress;
  const std::atomic<bool>* cancel = nullptr;
};

// An opened, checked file that has not taken its memory yet.
class OpenedModel {
 public:
  virtual ~OpenedModel() = default;
  virtual Result<LoadedModel> load(const EngineConfig& config, const LoadObserver& observer) = 0;
};

// Called on worker threads, one call at a time for loads and one for estimates.
class ModelProvider {
 public:
  virtual ~ModelProvider() = default;
  // Everything that can be wrong with file or configuration shows here, in one sentence.
  virtual Result<std::unique_ptr<OpenedModel>> open(const EngineConfig& config,
                                                    const LoadObserver& observer) = 0;
  // Memory without loading.
  virtual Result<MemoryEstimate> estimate(const LoadConfig& config) = 0;
};

}  // namespace engine::service
