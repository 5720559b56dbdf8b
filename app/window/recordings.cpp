#include "app/window/recordings.h"

#include <QFile>
#include <utility>

#include "engine/trace/trace_file.h"
#include "engine/trace/trace_replay.h"

// Outside every namespace, as Qt asks: a static library's resources are not taken up by themselves.
static void takeUpRecordings() { Q_INIT_RESOURCE(recordings); }

namespace app::window {

using namespace engine;

namespace {

Result<trace::Trace> readDemo() {
  takeUpRecordings();
  QFile file(QStringLiteral(":/recordings/demo.trace"));
  if (!file.open(QIODevice::ReadOnly)) return Error{ErrorCode::NotFound, "this build holds no recorded run"};
  return trace::parseTrace(file.readAll().toStdString(), "the recorded run");
}

}  // namespace

Result<std::unique_ptr<EngineHandle>> openRecording(const QString& path) {
  trace::Trace trace = path.isEmpty() ? TRY(readDemo()) : TRY(trace::readTrace(path.toStdString()));
  if (trace.events.empty() && trace.snapshots.empty()) {
    return Error{ErrorCode::CorruptFile, (path.isEmpty() ? std::string("the recorded run") : path.toStdString()) +
                                             " holds nothing that could be shown"};
  }
  return std::unique_ptr<EngineHandle>(std::make_unique<trace::TraceReplay>(std::move(trace)));
}

bool isRecording(const QString& path) {
  return path.endsWith(QLatin1String(".trace"), Qt::CaseInsensitive) || trace::isTraceFile(path.toStdString());
}

}  // namespace app::window
