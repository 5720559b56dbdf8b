// What every desktop program has, kept out of the window: files that are opened or dropped, recent ones,
// settings, log, About, and what the last run left behind.
#pragma once

#include <QObject>
#include <QPointer>
#include <QSettings>

#include "ui/models/engine_log.h"
#include "ui/models/log_lines.h"
#include "ui/models/preferences.h"

class QMenu;

namespace ui {

class MainWindow;

namespace panels {
class LogWindow;
class SettingsDialog;
}  // namespace panels

namespace style {
class Theme;
}

// Ui thread only. Takes files that are dropped anywhere on the window.
class ProgramDesk : public QObject {
  Q_OBJECT

 public:
  // All must outlive this; `window` is complete but for its menus.
  ProgramDesk(MainWindow& window, QSettings& settings, style::Theme& theme);
  ~ProgramDesk() override;

  void fillFileMenu(QMenu& menu);
  void fillHelpMenu(QMenu& menu);

  models::LogLines& log() { return m_log; }
  const models::Preferences& preferences() const { return m_preferences; }
  void setThemeMode(style::ThemeMode mode);
  QString diagnostics() const;
  // Tells what start-up found: damaged chats or settings (`found`), answers that were cut short.
  void tellWhatWasLeft(int numInterrupted, const QStringList& found);
  // And why the last model is not opened by itself.
  void tellStartHint();
  void refreshFirstRun();

 public slots:
  void showSettings();
  void showLog();
  void showAbout();
  void copyChat();

 signals:
  // Files from a drop or a list; whoever listens decides by their content what they are.
  void filesWanted(const QStringList& paths);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void fillRecent(QMenu& menu);
  void apply(const models::Preferences& preferences);
  void applyLook(style::ThemeMode theme, int textSize);
  void showDropHint(bool shown);
  // Why no model is open, told where the user looks: on the first page while it is seen, else in the banner.
  void tellWhyNoModel(const QString& sentence);
  void takeToPage();
  void takeToBanner();

  MainWindow& m_window;
  QSettings& m_settings;
  style::Theme& m_theme;
  models::LogLines m_log;
  models::EngineLog m_engineLog;
  models::Preferences m_preferences;
  QStringList m_complaints;
  QString m_onPage;  // what the banner would tell if the first page were not seen
  QPointer<panels::LogWindow> m_logWindow;
  QPointer<panels::SettingsDialog> m_settingsDialog;
  QPointer<QWidget> m_dropHint;
};

}  // namespace ui
