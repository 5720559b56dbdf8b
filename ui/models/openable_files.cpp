#include "ui/models/openable_files.h"

#include <QCoreApplication>
#include <QDir>
#include <QRegularExpression>
#include <QStandardPaths>

namespace ui::models {

namespace {

constexpr qsizetype kMost = 6;

QStringList filesIn(const QString& folder, const QString& pattern) {
  QStringList out;
  const QDir dir(folder);
  for (const QString& name : dir.entryList({pattern}, QDir::Files | QDir::Readable, QDir::Time)) out << dir.filePath(name);
  return out;
}

bool isLaterPart(const QString& path) {
  static const QRegularExpression pattern(QStringLiteral("-(\\d{5})-of-\\d{5}\\.gguf$"));
  const auto match = pattern.match(path);
  return match.hasMatch() && match.captured(1) != QLatin1String("00001");
}

}  // namespace

QString modelsFolder() {
  return QStandardPaths::writableLocation(QStandardPaths::GenericDataLocation) + QStringLiteral("/tessera/models");
}

QStringList withFoundModels(QStringList paths) {
  for (const QString& path : findOpenableFiles().models) {
    if (!paths.contains(path)) paths << path;
  }
  return paths;
}

OpenableFiles findOpenableFiles() {
  OpenableFiles found;
  QStringList folders = QStandardPaths::standardLocations(QStandardPaths::GenericDataLocation);
  folders << QCoreApplication::applicationDirPath() + QStringLiteral("/../share");
  folders.removeDuplicates();
  for (const QString& folder : folders) {
    for (const QString& path : filesIn(folder + QStringLiteral("/tessera/models"), QStringLiteral("*.gguf"))) {
      if (!isLaterPart(path)) found.models << path;
    }
    found.runs << filesIn(folder + QStringLiteral("/tessera/runs"), QStringLiteral("*.trace"));
  }
  found.models = found.models.mid(0, kMost);
  found.runs = found.runs.mid(0, kMost);
  return found;
}

}  // namespace ui::models
