// Owns the engine service, the chats and the window, and joins them; the only place that knows all three.
#pragma once

#include <QObject>
#include <QSettings>
#include <memory>
#include <optional>

#include "app/window/file_opening.h"
#include "app/window/message_log.h"
#include "app/window/single_instance.h"
#include "app/window/window_options.h"
#include "engine/api/engine_handle.h"
#include "ui/main_window.h"
#include "ui/style/english_plurals.h"

class QApplication;
class QSocketNotifier;
class QTemporaryDir;

namespace app::window {

// Ui thread only; one per process.
class Application : public QObject {
  Q_OBJECT

 public:
  // `qtApp` must outlive this. Exits of the event loop carry the program's exit code.
  Application(QApplication& qtApp, const WindowOptions& options);
  ~Application() override;

  // Shows the window, or begins the scripted chat. Returns an exit code instead when another window of
  // this user took the file (0) or does not answer (1, with a sentence on standard error).
  std::optional<int> start();
  // Null before start().
  ui::MainWindow* window() { return m_window.get(); }

 private:
  void openPlaces();
  void makeWindow();
  void connectFiles();
  void openTrace(const QString& path);
  void watchSignals();
  void watchSessionEnd();

  WindowOptions m_options;
  MessageLog m_messages;
  std::unique_ptr<SingleInstance> m_instance;
  FileOpening m_files;
  std::unique_ptr<QTemporaryDir> m_scriptFolder;  // a scripted run leaves the user's chats alone
  QString m_settingsSentence;
  std::unique_ptr<QSettings> m_settings;
  ui::style::EnglishPlurals m_plurals;
  ui::style::Theme m_theme;
  std::unique_ptr<engine::EngineHandle> m_engine;
  std::unique_ptr<ui::models::ChatStore> m_store;
  std::unique_ptr<ui::MainWindow> m_window;
  QSocketNotifier* m_signalNotifier = nullptr;
};

}  // namespace app::window
