#include "app/window/file_opening.h"

#include <QFileInfo>
#include <QRegularExpression>
#include <algorithm>

#include "engine/trace/trace_file.h"

namespace app::window {

namespace {

QString translate(const char* text) { return FileOpening::tr(text); }

// What all parts of one split model have in common; empty for a whole file.
QString splitName(const QString& path) {
  static const QRegularExpression pattern(QStringLiteral("^(.*)-\\d{5}-of-(\\d{5})\\.gguf$"),
                                          QRegularExpression::CaseInsensitiveOption);
  const auto match = pattern.match(path);
  return match.hasMatch() ? match.captured(1) + QLatin1Char('/') + match.captured(2) : QString();
}

FileDecision refusal(const QString& sentence) { return {FileDecision::Kind::Nothing, {}, sentence}; }

// Empty when the file can be opened.
QString whyNot(const QFileInfo& file) {
  const QString name = file.fileName().isEmpty() ? file.filePath() : file.fileName();
  if (!file.exists()) return translate("There is no file %1.").arg(file.absoluteFilePath());
  if (file.isDir()) return translate("%1 is a folder; open a model file (.gguf) in it.").arg(name);
  if (!file.isFile()) return translate("%1 is no ordinary file and is not opened.").arg(name);
  if (!file.isReadable()) return translate("%1 may not be read by this user.").arg(file.absoluteFilePath());
  return {};
}

}  // namespace

FileDecision decideOn(const QStringList& paths) {
  if (paths.isEmpty()) return refusal(translate("There is no file to open: only files on this computer can be."));
  QStringList files;
  for (const QString& path : paths) {
    const QFileInfo file(path);
    if (const QString why = whyNot(file); !why.isEmpty()) return refusal(why);
    files << file.absoluteFilePath();
  }
  files.removeDuplicates();
  std::sort(files.begin(), files.end());
  const QString split = splitName(files.front());
  const bool isOne = files.size() == 1 || (!split.isEmpty() && std::all_of(files.begin(), files.end(), [&](const QString& f) {
                       return splitName(f) == split;
                     }));
  if (!isOne) {
    return refusal(translate("%1 files came together; one model (all its parts) or one recorded run is opened at a time.")
                       .arg(files.size()));
  }
  const bool isTrace = engine::trace::isTraceFile(files.front().toStdString());
  return {isTrace ? FileDecision::Kind::Trace : FileDecision::Kind::Model, files.front(), {}};
}

void FileOpening::open(const QStringList& paths) {
  const FileDecision decision = decideOn(paths);
  switch (decision.kind) {
    case FileDecision::Kind::Model: emit modelChosen(decision.path); break;
    case FileDecision::Kind::Trace: emit traceChosen(decision.path); break;
    case FileDecision::Kind::Nothing: emit refused(decision.sentence); break;
  }
}

}  // namespace app::window
