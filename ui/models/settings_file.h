// Opens the program's settings file; a damaged one is set aside and said, never fatal.
#pragma once

#include <QSettings>
#include <QString>
#include <memory>

namespace ui::models {

struct OpenedSettings {
  std::unique_ptr<QSettings> settings;  // never null
  QString sentence;                     // what was wrong, for the user; empty when all is well
};

// "${XDG_CONFIG_HOME}/tessera/tessera.ini".
QString defaultSettingsPath();

OpenedSettings openSettings(const QString& path);

}  // namespace ui::models
