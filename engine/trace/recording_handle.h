// An engine whose run is written to a trace file on the way to the front end.
#pragma once

#include <memory>
#include <string>

#include "engine/api/engine_handle.h"
#include "engine/base/result.h"

namespace engine::trace {

// Passes everything through and writes it down whenever the front end looks; the engine's own
// thread does nothing for it. The front end must look often enough for the event ring not to run
// over, as any must. When the file cannot be written any further a warning says so and the run goes
// on. program: what records, for the header. InvalidArgument when the file cannot be made.
Result<std::unique_ptr<EngineHandle>> recordEngine(std::unique_ptr<EngineHandle> engine,
                                                   const std::string& path,
                                                   const std::string& program);

}  // namespace engine::trace
