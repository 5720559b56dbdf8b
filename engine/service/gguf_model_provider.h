// Serves GGUF files with the CPU backends.
#pragma once

#include <memory>

#include "engine/service/loaded_model.h"

namespace engine::service {

class GgufModelProvider final : public ModelProvider {
 public:
  Result<std::unique_ptr<OpenedModel>> open(const EngineConfig& config,
                                            const LoadObserver& observer) override;
  Result<MemoryEstimate> estimate(const LoadConfig& config) override;
};

}  // namespace engine::service
