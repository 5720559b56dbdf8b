// Brings what Qt and the engine's logger say into the window's log, from whatever thread, and still to
// standard error.
#pragma once

#include <QObject>

#include "ui/models/log_lines.h"

namespace app::window {

// One per process; puts back what was there before when it goes.
class MessageLog : public QObject {
  Q_OBJECT

 public:
  explicit MessageLog(QObject* parent = nullptr);
  ~MessageLog() override;

  // Lines that came earlier are handed over at once. `log` must outlive this.
  void attach(ui::models::LogLines& log);

 signals:
  // Queued to the ui thread.
  void said(int severity, const QString& text);

 private:
  ui::models::LogLines* m_log = nullptr;
  QList<std::pair<int, QString>> m_early;
};

}  // namespace app::window
