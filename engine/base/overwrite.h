// Whether a file that is there may be written over.
#pragma once

#include <string>
#include <string_view>

#include "engine/base/result.h"

namespace engine {

// Ok when nothing would be lost that is not of the kind to be written: the path names no file, an
// empty one, a device or a pipe, or a file that begins with `signature`. InvalidArgument otherwise:
// somebody named a model, or the input, as the place of the output.
//   kind: with an article, "a recording"
Result<void> checkOverwrite(const std::string& path, std::string_view signature, const char* kind);

}  // namespace engine
