#include "ui/models/log_lines.h"

#include <QDateTime>

namespace ui::models {

namespace {

QString nameOf(engine::Severity severity) {
  switch (severity) {
    case engine::Severity::Info: return QStringLiteral("info   ");
    case engine::Severity::Warning: return QStringLiteral("warning");
    case engine::Severity::Failure: return QStringLiteral("failure");
  }
  return {};
}

}  // namespace

QString toText(const LogLine& line) {
  return QStringLiteral("%1 %2 %3").arg(
      QDateTime::fromMSecsSinceEpoch(line.timeMs).toString(QStringLiteral("HH:mm:ss.zzz")), nameOf(line.severity), line.text);
}

void LogLines::add(engine::Severity severity, const QString& text) {
  QString oneLine = text.left(kLongest);
  oneLine.replace(QLatin1Char('\n'), QStringLiteral(" ⏎ "));
  m_lines.push_back({QDateTime::currentMSecsSinceEpoch(), severity, oneLine});
  if (m_lines.size() > kMost) m_lines.pop_front();
  ++m_numAdded;
  emit added(m_lines.back());
}

}  // namespace ui::models
