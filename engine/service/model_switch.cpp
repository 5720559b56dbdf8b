#include "engine/service/model_switch.h"

#include <exception>

namespace engine::service {

namespace {

// Exceptions of libraries and of memory end here as an Error.
template <typename T, typename Call>
Result<T> guarded(Call call) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::OutOfMemory, "there is not enough memory to load the model"};
  } catch (const std::exception& e) {
    return Error{ErrorCode::Internal, std::string("loading the model failed: ") + e.what()};
  }
}

}  // namespace

LoadObserver ModelSwitch::observer() const {
  LoadObserver observer;
  observer.cancel = &m_cancel->flag();
  observer.progress = [post = m_post, serial = m_serial](const std::string& stage,
                                                         double fraction, std::int64_t bytes) {
    post(LoadAdvanced{serial, stage, fraction, bytes});
  };
  return observer;
}

void ModelSwitch::open(const EngineConfig& config) {
  cancel();
  ++m_serial;
  m_config = config;
  m_cancel = std::make_shared<CancelToken>();
  m_worker.run([provider = m_provider, post = m_post, config, serial = m_serial, keep = m_cancel,
                observer = observer()] {
    using Opened = std::unique_ptr<OpenedModel>;
    post(ModelOpened{serial, guarded<Opened>([&] { return provider->open(config, observer); })});
  });
}

void ModelSwitch::load(std::unique_ptr<OpenedModel> opened) {
  std::shared_ptr<OpenedModel> shared = std::move(opened);
  m_worker.run([shared, post = m_post, config = m_config, serial = m_serial, keep = m_cancel,
                observer = observer()] {
    post(LoadEnded{serial, guarded<LoadedModel>([&] { return shared->load(config, observer); })});
  });
}

void ModelSwitch::cancel() {
  if (m_cancel) m_cancel->cancel();
  m_cancel.reset();
}

}  // namespace engine::service
