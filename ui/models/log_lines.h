// The program's own log: what happened and when, newest last. Never holds what was said in chats.
#pragma once

#include <QObject>
#include <QString>
#include <deque>

#include "engine/api/message.h"

namespace ui::models {

struct LogLine {
  qint64 timeMs = 0;  // since the epoch
  engine::Severity severity = engine::Severity::Info;
  QString text;
};

// "14:02:07.123 warning  text".
QString toText(const LogLine& line);

// Ui thread only; other threads hand lines over with a queued call.
class LogLines : public QObject {
  Q_OBJECT

 public:
  static constexpr std::size_t kMost = 2000;  // older ones go
  static constexpr qsizetype kLongest = 2000;  // characters of one line

  using QObject::QObject;

  void add(engine::Severity severity, const QString& text);
  const std::deque<LogLine>& lines() const { return m_lines; }
  qint64 numAdded() const { return m_numAdded; }

 signals:
  void added(const ui::models::LogLine& line);

 private:
  std::deque<LogLine> m_lines;
  qint64 m_numAdded = 0;
};

}  // namespace ui::models
