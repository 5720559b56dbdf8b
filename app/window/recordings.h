// Recorded runs for the window: from a file, or the one that comes with the program.
#pragma once

#include <QString>
#include <memory>

#include "engine/api/engine_handle.h"
#include "engine/base/result.h"

namespace app::window {

// An engine that plays it from its beginning. An empty path means the program's own recording. One
// sentence for what cannot be read.
engine::Result<std::unique_ptr<engine::EngineHandle>> openRecording(const QString& path);

// Whether a file given to open is meant as a recording: by its content, or by its name.
bool isRecording(const QString& path);

}  // namespace app::window
