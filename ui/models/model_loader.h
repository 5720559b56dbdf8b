// Loading models: starts and cancels loads, follows their progress, and remembers across runs what was
// open and what failed, so that a model that broke the program is not started again by itself.
#pragma once

#include <QObject>
#include <QSettings>
#include <QString>
#include <QStringList>

#include "ui/bridge/engine_bridge.h"

namespace ui::models {

// Ui thread only.
class ModelLoader : public QObject {
  Q_OBJECT

 public:
  // Both must outlive the loader. Reads at once whether the last run ended inside a load.
  ModelLoader(bridge::EngineBridge& bridge, QSettings& settings, QObject* parent = nullptr);

  // The last load wins: one that is under way is given up by the engine.
  void load(const engine::EngineConfig& config);
  // A file chosen without a dialog: loads it when the engine finds room for it beside what stays free
  // once the model in place is gone; else doesNotFit().
  void open(const QString& path);
  void cancel();
  void unload();

  bool isLoading() const { return m_isLoading; }
  const QString& loadingPath() const { return m_path; }
  const QString& stage() const { return m_stage; }
  double fraction() const { return m_fraction; }
  // Of the model's files; 0 until it is known.
  qint64 totalBytes() const { return m_totalBytes; }
  // The sentence of the last failed load, empty after a good one.
  const QString& failure() const { return m_failure; }

  // The configuration of the last model that loaded well, if it may be started by itself: empty path
  // when there was none, or when its last load failed or never ended.
  engine::EngineConfig configToStartWith() const;
  // Why configToStartWith() is empty although there was a model; else empty.
  const QString& startHint() const { return m_startHint; }
  engine::EngineConfig lastConfig() const;
  // For a model that is opened now: the last one's own, else the user's defaults.
  engine::EngineConfig configFor(const QString& path) const;
  void setDefaults(const engine::EngineConfig& defaults) { m_defaults = defaults; }
  // Defaults that the user changed just now hold for the last model too, when it is opened again.
  void adoptDefaults(const engine::EngineConfig& defaults);
  QStringList recentPaths() const;
  void forget(const QString& path);
  void forgetAll();

 signals:
  // Before the engine is told: whoever shows something else gives way.
  void aboutToLoad();
  void progressed();
  void loaded();
  void unloaded();
  // Not for a load that the user cancelled.
  void failed(const QString& sentence);
  void cancelled();
  void doesNotFit(const QString& path);
  void recentChanged();

 private:
  void onFrame(const bridge::Frame& frame);
  void remember(const engine::EngineConfig& config);
  void writeLoad(const engine::LoadConfig& load);
  void endLoad();

  bridge::EngineBridge& m_bridge;
  QSettings& m_settings;
  engine::EngineConfig m_config, m_defaults;
  QString m_path, m_stage, m_failure, m_startHint;
  double m_fraction = 0;
  qint64 m_totalBytes = 0;
  std::uint64_t m_choice = 0;  // grows with every model the user chooses
  bool m_isLoading = false, m_mayStart = false;
};

}  // namespace ui::models
