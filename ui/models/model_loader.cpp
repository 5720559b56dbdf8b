#include "ui/models/model_loader.h"

#include <QFileInfo>
#include <algorithm>

namespace ui::models {

namespace {

// Settings keys
constexpr const char* kUnderWay = "model/load_under_way";  // path; written before a load, gone after it
constexpr const char* kFailed = "model/load_failed";       // path of a load that failed
constexpr const char* kRecent = "model/recent";
constexpr const char* kPath = "model/path";
constexpr int kNumRecent = 8;

QVariant value(const QSettings& settings, const char* key) { return settings.value(QLatin1String(key)); }

}  // namespace

ModelLoader::ModelLoader(bridge::EngineBridge& bridge, QSettings& settings, QObject* parent)
    : QObject(parent), m_bridge(bridge), m_settings(settings) {
  const QString last = value(settings, kPath).toString();
  const QString broke = value(settings, kUnderWay).toString();
  const QString refused = value(settings, kFailed).toString();
  if (!broke.isEmpty()) {
    m_startHint = tr("The last run ended while %1 was being loaded; it is not opened by itself.")
                      .arg(QFileInfo(broke).fileName());
  } else if (!refused.isEmpty() && refused == last) {
    m_startHint = tr("%1 could not be loaded last time; it is not opened by itself.").arg(QFileInfo(refused).fileName());
  }
  m_mayStart = !last.isEmpty() && m_startHint.isEmpty();
  m_settings.remove(QLatin1String(kUnderWay));
  connect(&bridge, &bridge::EngineBridge::frameReady, this, &ModelLoader::onFrame);
}

engine::EngineConfig ModelLoader::lastConfig() const {
  engine::EngineConfig config = m_defaults;
  auto& load = config.load;
  load.modelPath = value(m_settings, kPath).toString().toStdString();
  load.maxContext = m_settings.value(QStringLiteral("model/max_context"), 0).toLongLong();
  load.blockSize = m_settings.value(QStringLiteral("model/block_size"), load.blockSize).toInt();
  load.kvMemoryBytes = m_settings.value(QStringLiteral("model/kv_memory"), 0).toLongLong();
  load.kvBlocks = m_settings.value(QStringLiteral("model/kv_blocks"), 0).toLongLong();
  load.kvDtype = static_cast<engine::KvDType>(m_settings.value(QStringLiteral("model/kv_dtype"), 0).toInt());
  load.isa = static_cast<engine::IsaKind>(m_settings.value(QStringLiteral("model/isa"), 0).toInt());
  load.threads = m_settings.value(QStringLiteral("model/threads"), 0).toInt();
  // a hand-edited file must not stop the program from starting
  if (!engine::checkLoadConfig(load)) {
    engine::LoadConfig plain;
    plain.modelPath = load.modelPath;
    load = plain;
  }
  return config;
}

engine::EngineConfig ModelLoader::configToStartWith() const {
  return m_mayStart ? lastConfig() : engine::EngineConfig{};
}

QStringList ModelLoader::recentPaths() const { return value(m_settings, kRecent).toStringList(); }

engine::EngineConfig ModelLoader::configFor(const QString& path) const {
  engine::EngineConfig config = path == value(m_settings, kPath).toString() ? lastConfig() : m_defaults;
  config.load.modelPath = path.toStdString();
  config.limits = m_defaults.limits;
  return config;
}

void ModelLoader::forget(const QString& path) {
  QStringList recent = recentPaths();
  if (recent.removeAll(path) == 0) return;
  m_settings.setValue(QLatin1String(kRecent), recent);
  emit recentChanged();
}

void ModelLoader::forgetAll() {
  m_settings.remove(QLatin1String(kRecent));
  emit recentChanged();
}

void ModelLoader::open(const QString& path) {
  const engine::EngineConfig config = configFor(path);
  const std::uint64_t choice = ++m_choice;
  m_bridge.ask(engine::EstimateQuery{config.load}, this, [this, config, path, choice](const engine::QueryAnswer& answer) {
    if (choice != m_choice) return;  // another one was chosen meanwhile
    const auto* estimate = std::get_if<engine::MemoryEstimate>(&answer.answer);
    const auto& live = m_bridge.liveSnapshot();
    const qint64 given = live && live->model ? live->model->weightBytes + live->model->kvBytes + live->model->scratchBytes : 0;
    const bool isTooLarge = estimate && estimate->freeBytes > 0 && estimate->totalBytes > estimate->freeBytes + given;
    if (isTooLarge) emit doesNotFit(path);
    else load(config);  // what is wrong with a file, loading it says
  });
}

void ModelLoader::load(const engine::EngineConfig& config) {
  ++m_choice;
  m_totalBytes = 0;
  emit aboutToLoad();
  m_config = config;
  m_path = QString::fromStdString(config.load.modelPath);
  m_isLoading = true;
  m_fraction = 0;
  m_stage = tr("reading");
  m_failure.clear();
  m_settings.setValue(QLatin1String(kUnderWay), m_path);
  m_settings.sync();  // a crash in the engine must find it on the disk
  m_bridge.send(engine::LoadModel{config});
  emit progressed();
}

void ModelLoader::cancel() {
  if (m_isLoading) m_bridge.send(engine::CancelLoad{});
}

void ModelLoader::unload() { m_bridge.send(engine::UnloadModel{}); }

void ModelLoader::endLoad() {
  m_isLoading = false;
  m_settings.remove(QLatin1String(kUnderWay));
}

void ModelLoader::remember(const engine::EngineConfig& config) {
  m_settings.setValue(QLatin1String(kPath), m_path);
  writeLoad(config.load);
  QStringList recent = recentPaths();
  recent.removeAll(m_path);
  recent.prepend(m_path);
  m_settings.setValue(QLatin1String(kRecent), recent.mid(0, kNumRecent));
  emit recentChanged();
}

void ModelLoader::adoptDefaults(const engine::EngineConfig& defaults) {
  m_defaults = defaults;
  writeLoad(defaults.load);
}

void ModelLoader::writeLoad(const engine::LoadConfig& load) {
  m_settings.setValue(QStringLiteral("model/max_context"), qint64(load.maxContext));
  m_settings.setValue(QStringLiteral("model/block_size"), load.blockSize);
  m_settings.setValue(QStringLiteral("model/kv_memory"), qint64(load.kvMemoryBytes));
  m_settings.setValue(QStringLiteral("model/kv_blocks"), qint64(load.kvBlocks));
  m_settings.setValue(QStringLiteral("model/kv_dtype"), int(load.kvDtype));
  m_settings.setValue(QStringLiteral("model/isa"), int(load.isa));
  m_settings.setValue(QStringLiteral("model/threads"), load.threads);
}

void ModelLoader::onFrame(const bridge::Frame& frame) {
  if (m_bridge.replay()) return;  // it tells of the loads of its own time
  for (const auto& message : frame.messages) {
    if (const auto* progress = std::get_if<engine::LoadProgress>(&message)) {
      m_stage = QString::fromStdString(progress->stage);
      m_fraction = progress->fraction;
      m_totalBytes = std::max<qint64>(m_totalBytes, progress->totalBytes);
      emit progressed();
    } else if (const auto* loadedModel = std::get_if<engine::ModelLoaded>(&message)) {
      // one that was overtaken by a later load may still report
      if (loadedModel->info && m_isLoading && QString::fromStdString(loadedModel->info->path) != m_path) continue;
      endLoad();
      m_failure.clear();
      m_settings.remove(QLatin1String(kFailed));
      if (!m_path.isEmpty()) remember(m_config);
      emit loaded();
    } else if (const auto* failure = std::get_if<engine::LoadFailed>(&message)) {
      if (QString::fromStdString(failure->path) != m_path) continue;
      endLoad();
      if (failure->error.code == engine::ErrorCode::Cancelled) {
        emit cancelled();
        continue;
      }
      m_failure = QString::fromStdString(failure->error.message);
      m_settings.setValue(QLatin1String(kFailed), m_path);
      m_settings.setValue(QLatin1String(kPath), m_path);
      emit failed(m_failure);
    } else if (std::holds_alternative<engine::ModelUnloaded>(message)) {
      emit unloaded();
    }
  }
}

}  // namespace ui::models
