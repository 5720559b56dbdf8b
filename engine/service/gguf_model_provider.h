// Serves GGUF files with the CPU backends.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "engine/service/loaded_model.h"

namespace engine::service {

class GgufModelProvider final : public ModelProvider {
 public:
  // packedFolder: where packed weights are kept between loads; empty = nowhere.
  explicit GgufModelProvider(std::string packedFolder = {})
      : m_packedFolder(std::move(packedFolder)) {}

  Result<std::unique_ptr<OpenedModel>> open(const EngineConfig& config,
                                            const LoadObserver& observer) override;
  Result<MemoryEstimate> estimate(const LoadConfig& config) override;

 private:
  const std::string m_packedFolder;
};

}  // namespace engine::service
