// What someone who helps needs to know: version, machine, model, knobs, the last log lines. No text of
// chats, no titles; the home folder is written as "~".
#pragma once

#include <QString>
#include <deque>

#include "engine/api/snapshot.h"
#include "ui/models/log_lines.h"

namespace ui::models {

// Read once from the system.
struct Machine {
  QString system;      // "Debian GNU/Linux 12 (bookworm), Linux 6.1, x86_64"
  QString processor;   // "AMD EPYC 9B14"
  int numCores = 0;    // logical
  qint64 memoryBytes = 0, freeBytes = 0;  // 0 = unknown
  QString platform;    // Qt's: "xcb", "wayland", "offscreen"
  QString screens;     // "1920×1080 at 1.5"
};
Machine readMachine();

struct DiagnosticsParts {
  Machine machine;
  std::shared_ptr<const engine::EngineSnapshot> engine;  // null before the first publication
  const std::deque<LogLine>* log = nullptr;
  QString windowCost;  // "3.1 ms a frame, 60 Hz"
  QString homePath;    // replaced by "~"
};

QString diagnosticsText(const DiagnosticsParts& parts);

}  // namespace ui::models
