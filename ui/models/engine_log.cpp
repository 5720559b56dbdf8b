#include "ui/models/engine_log.h"

#include "ui/style/format.h"

namespace ui::models {

using engine::Severity;

namespace {

QLatin1String nameOf(engine::ErrorCode code) {
  using engine::ErrorCode;
  switch (code) {
    case ErrorCode::InvalidArgument: return QLatin1String("invalid argument");
    case ErrorCode::NotFound: return QLatin1String("not found");
    case ErrorCode::CorruptFile: return QLatin1String("corrupt file");
    case ErrorCode::Unsupported: return QLatin1String("unsupported");
    case ErrorCode::OutOfMemory: return QLatin1String("out of memory");
    case ErrorCode::DeviceFailed: return QLatin1String("device failed");
    case ErrorCode::Cancelled: return QLatin1String("cancelled");
    case ErrorCode::Internal: return QLatin1String("internal");
  }
  return QLatin1String("unknown");
}

}  // namespace

EngineLog::EngineLog(bridge::EngineBridge& bridge, LogLines& log, QObject* parent) : QObject(parent), m_log(log) {
  connect(&bridge, &bridge::EngineBridge::frameReady, this, &EngineLog::onFrame);
}

void EngineLog::onFrame(const bridge::Frame& frame) {
  for (const auto& message : frame.messages) {
    if (const auto* loaded = std::get_if<engine::ModelLoaded>(&message); loaded && loaded->info) add(*loaded->info);
    if (std::holds_alternative<engine::ModelUnloaded>(message)) m_log.add(Severity::Info, tr("the model was unloaded"));
    if (const auto* failed = std::get_if<engine::LoadFailed>(&message)) {
      const bool isWanted = failed->error.code == engine::ErrorCode::Cancelled;
      m_log.add(isWanted ? Severity::Info : Severity::Failure,
                tr("loading %1: %2").arg(QString::fromStdString(failed->path), QString::fromStdString(failed->error.message)));
    }
    if (const auto* end = std::get_if<engine::RequestFinished>(&message)) add(*end);
    if (const auto* notice = std::get_if<engine::Notice>(&message)) {
      m_log.add(notice->severity, QString::fromStdString(notice->text));
    }
  }
  if (frame.newlyLostEvents > 0) {
    m_log.add(Severity::Warning, tr("%1 trace events were lost, %2 in all")
                                     .arg(frame.newlyLostEvents).arg(frame.lostEvents));
  }
}

void EngineLog::add(const engine::ModelInfo& model) {
  m_log.add(Severity::Info,
            tr("loaded %1 (%2, %3) in %4: %5 %6, %n thread(s)", nullptr, model.threads)
                .arg(QString::fromStdString(model.path), QString::fromStdString(model.quantisation),
                     style::formatBytes(model.fileBytes), style::formatMs(model.loadMs),
                     QString::fromStdString(model.backend), QString::fromStdString(model.isa)));
  for (const std::string& note : {model.isaNote, model.chatNote}) {
    if (!note.empty()) m_log.add(Severity::Warning, QString::fromStdString(note));
  }
}

// The explanation stays out: a chat template's own words may quote the conversation.
void EngineLog::add(const engine::RequestFinished& end) {
  const bool isBad = end.reason == engine::FinishReason::Failed || end.reason == engine::FinishReason::Refused;
  QString text = tr("request %1 ended: %2, %3 prompt tokens (%4 cached), %5 answered, preempted %6 times")
                     .arg(end.request.value)
                     .arg(QLatin1String(engine::finishReasonName(end.reason)))
                     .arg(end.usage.promptTokens).arg(end.usage.cachedTokens)
                     .arg(end.usage.completionTokens).arg(end.preemptions);
  if (isBad) text += tr(" (%1)").arg(nameOf(end.errorCode));
  m_log.add(isBad ? Severity::Warning : Severity::Info, text);
}

}  // namespace ui::models
