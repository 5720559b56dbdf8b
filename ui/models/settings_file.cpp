#include "ui/models/settings_file.h"

#include <QCoreApplication>
#include <QDateTime>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QStandardPaths>
#include <QStringDecoder>

namespace ui::models {

namespace {

constexpr qint64 kLargest = 1'000'000;  // bytes; ours has a few thousand

QString translate(const char* text) { return QCoreApplication::translate("Settings", text); }

// QSettings takes nearly anything for settings: what no program of ours wrote is found here.
bool isReadable(const QString& path) {
  QFile file(path);
  if (!file.open(QIODevice::ReadOnly)) return false;
  if (file.size() > kLargest) return false;
  const QByteArray bytes = file.readAll();
  if (bytes.contains('\0')) return false;
  QStringDecoder decoder(QStringDecoder::Utf8);
  const QString text = decoder(bytes);
  if (decoder.hasError()) return false;
  for (const QString& raw : text.split(QLatin1Char('\n'))) {
    const QString line = raw.trimmed();
    const bool isFine = line.isEmpty() || line.startsWith(QLatin1Char(';')) || line.startsWith(QLatin1Char('#')) ||
                        (line.startsWith(QLatin1Char('[')) && line.endsWith(QLatin1Char(']'))) ||
                        line.indexOf(QLatin1Char('=')) > 0 || raw.startsWith(QLatin1Char(' ')) || raw.startsWith(QLatin1Char('\t'));
    if (!isFine) return false;
  }
  return QSettings(path, QSettings::IniFormat).status() == QSettings::NoError;
}

// The new path, empty when it cannot be moved.
QString moveAside(const QString& path) {
  const QString aside =
      path + QStringLiteral(".damaged-") + QDateTime::currentDateTime().toString(QStringLiteral("yyyyMMdd-HHmmss-zzz"));
  return QFile::rename(path, aside) ? aside : QString();
}

}  // namespace

QString defaultSettingsPath() {
  return QStandardPaths::writableLocation(QStandardPaths::GenericConfigLocation) +
         QStringLiteral("/tessera/tessera.ini");
}

OpenedSettings openSettings(const QString& path) {
  OpenedSettings opened;
  const QFileInfo file(path);
  if (file.exists() && !isReadable(path)) {
    const QString aside = moveAside(path);
    opened.sentence = aside.isEmpty()
                          ? translate("The settings in %1 cannot be read and are not used; changes are not kept.").arg(path)
                          : translate("The settings in %1 could not be read: the file was moved to %2, and the "
                                      "defaults are in force.").arg(path, aside);
    if (aside.isEmpty()) {
      opened.settings = std::make_unique<QSettings>(QDir::tempPath() + QStringLiteral("/tessera-%1.ini").arg(QCoreApplication::applicationPid()),
                                                    QSettings::IniFormat);
      return opened;
    }
  }
  opened.settings = std::make_unique<QSettings>(path, QSettings::IniFormat);
  if (!opened.settings->isWritable() && opened.sentence.isEmpty()) {
    opened.sentence = translate("The settings file %1 cannot be written; changes are not kept.").arg(path);
  }
  return opened;
}

}  // namespace ui::models
