#include "app/window/message_log.h"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <QMutex>
#include <QPointer>
#include <memory>
#include <vector>

namespace app::window {

namespace {

// A message handler is a plain function: it finds the log here. Guarded, since any thread may speak.
QMutex g_guard;
MessageLog* g_log = nullptr;
QtMessageHandler g_before = nullptr;

void say(engine::Severity severity, const QString& text) {
  QMutexLocker lock(&g_guard);
  if (g_log) emit g_log->said(int(severity), text);
}

void onQtMessage(QtMsgType type, const QMessageLogContext& context, const QString& text) {
  if (g_before) g_before(type, context, text);
  switch (type) {
    case QtDebugMsg: break;
    case QtInfoMsg: say(engine::Severity::Info, text); break;
    case QtWarningMsg: say(engine::Severity::Warning, text); break;
    case QtCriticalMsg: case QtFatalMsg: say(engine::Severity::Failure, text); break;
  }
}

class WindowSink : public spdlog::sinks::base_sink<std::mutex> {
 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    const auto severity = message.level >= spdlog::level::err    ? engine::Severity::Failure
                          : message.level >= spdlog::level::warn ? engine::Severity::Warning
                                                                 : engine::Severity::Info;
    say(severity, QString::fromUtf8(message.payload.data(), qsizetype(message.payload.size())));
  }
  void flush_() override {}
};

}  // namespace

MessageLog::MessageLog(QObject* parent) : QObject(parent) {
  // a message may come from any thread, and from within the log itself: never called directly
  connect(this, &MessageLog::said, this, [this](int severity, const QString& text) {
    if (m_log) m_log->add(static_cast<engine::Severity>(severity), text);
    else m_early.emplace_back(severity, text);
  }, Qt::QueuedConnection);
  {
    QMutexLocker lock(&g_guard);
    g_log = this;
  }
  g_before = qInstallMessageHandler(onQtMessage);
  std::vector<spdlog::sink_ptr> sinks{std::make_shared<spdlog::sinks::stderr_sink_mt>(), std::make_shared<WindowSink>()};
  spdlog::set_default_logger(std::make_shared<spdlog::logger>("tessera", sinks.begin(), sinks.end()));
}

MessageLog::~MessageLog() {
  qInstallMessageHandler(g_before);
  QMutexLocker lock(&g_guard);
  g_log = nullptr;
}

void MessageLog::attach(ui::models::LogLines& log) {
  m_log = &log;
  for (const auto& [severity, text] : m_early) m_log->add(static_cast<engine::Severity>(severity), text);
  m_early.clear();
}

}  // namespace app::window
