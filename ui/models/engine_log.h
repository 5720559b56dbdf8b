// Writes what the engine tells into the log: loads, ends of requests, notices. No text of chats.
#pragma once

#include <QObject>

#include "ui/bridge/engine_bridge.h"
#include "ui/models/log_lines.h"

namespace ui::models {

// Ui thread only.
class EngineLog : public QObject {
  Q_OBJECT

 public:
  // Both must outlive this.
  EngineLog(bridge::EngineBridge& bridge, LogLines& log, QObject* parent = nullptr);

 private:
  void onFrame(const bridge::Frame& frame);
  void add(const engine::ModelInfo& model);
  void add(const engine::RequestFinished& end);

  LogLines& m_log;
  std::uint64_t m_lostEvents = 0;
};

}  // namespace ui::models
