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
  void cancel();
  void unload();

  bool isLoading() const { return m_isLoading; }
  const QString& loadingPath() const { return m_path; }
  const QString& stage() const { return m_stage; }
  double fraction() const { return m_fraction; }
  // The sentence of the last failed load, empty after a good one.
  const QString& failure() const { return m_failure; }

  // The configuration of the last model that loaded well, if it may be started by itself: empty path
  // when there was none, or when its last load failed or never ended.
  engine::EngineConfig configToStartWith() const;
  // Why configToStartWith() is empty although there was a model; else empty.
  const QString& startHint() const { return m_startHint; }
  engine::EngineConfig lastConfig() const;
  QStringList recentPaths() const;

 signals:
  void progressed();
  void loaded();
  void unloaded();
  // Not for a load that the user cancelled.
  void failed(const QString& sentence);
  void cancelled();

 private:
  void onFrame(const bridge::Frame& frame);
  void remember(const engine::EngineConfig& config);
  void endLoad();

  bridge::EngineBridge& m_bridge;
  QSettings& m_settings;
  engine::EngineConfig m_config;
  QString m_path, m_stage, m_failure, m_startHint;
  double m_fraction = 0;
  bool m_isLoading = false, m_mayStart = false;
};

}  // namespace ui::models
