// Loads models away from the engine thread, so that the window and the model in place stay alive:
// the last chosen one wins, and a load can be given up at any time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>

#include "engine/api/engine_config.h"
#include "engine/base/cancel_token.h"
#include "engine/base/result.h"
#include "engine/service/background_worker.h"
#include "engine/service/loaded_model.h"

namespace engine::service {

// What the loading thread reports; serial says of which load.
struct LoadAdvanced {
  std::uint64_t serial;
  std::string stage;
  double fraction;
  std::int64_t totalBytes;
};

struct ModelOpened {
  std::uint64_t serial;
  Result<std::unique_ptr<OpenedModel>> result;
};

struct LoadEnded {
  std::uint64_t serial;
  Result<LoadedModel> result;
};

using LoadEvent = std::variant<LoadAdvanced, ModelOpened, LoadEnded>;

// Engine thread only, but for `post`, which the loading thread calls.
class ModelSwitch {
 public:
  ModelSwitch(std::shared_ptr<ModelProvider> provider, std::function<void(LoadEvent)> post)
      : m_provider(std::move(provider)), m_post(std::move(post)) {}

  ~ModelSwitch() { cancel(); }

  // First half: opens the file; the model in place is not touched. Gives up a load in progress.
  void open(const EngineConfig& config);
  // Second half, after the model in place has gone.
  void load(std::unique_ptr<OpenedModel> opened);
  void cancel();

  void finish() { m_cancel.reset(); }

  bool isLoading() const { return m_cancel != nullptr; }

  // Reports of given-up loads are stale.
  bool isCurrent(std::uint64_t serial) const { return isLoading() && serial == m_serial; }

  const EngineConfig& config() const { return m_config; }

 private:
  LoadObserver observer() const;

  std::shared_ptr<ModelProvider> m_provider;
  std::function<void(LoadEvent)> m_post;
  std::uint64_t m_serial = 0;
  EngineConfig m_config;
  std::shared_ptr<CancelToken> m_cancel;  // of the load in progress; shared with its thread
  BackgroundWorker m_worker;              // last: its tasks use the others
};

}  // namespace engine::service
