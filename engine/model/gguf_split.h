// A model cut into several GGUF files: which part one file is, and where the others lie.
#pragma once

#include <string>

#include "engine/base/result.h"
#include "engine/model/gguf_metadata.h"

namespace engine::model {

// Counted from 0; a whole model is part 0 of 1.
struct GgufPart {
  int index = 0, count = 1;

  friend bool operator==(const GgufPart&, const GgufPart&) = default;
};

// What the file at `path` says of itself (split.no, split.count). CorruptFile when they contradict
// each other.
Result<GgufPart> readPart(const GgufMetadata& metadata, const std::string& path);

// "dir/name-00001-of-00003.gguf" for another part beside `path`, which holds `part`. NotFound when
// `path` is not named so.
Result<std::string> pathOfPart(const std::string& path, const GgufPart& part, int index);

// What a model file is called where it is shown: its name without folder, ".gguf" and a part's number,
// fit to be shown.
std::string titleOf(const std::string& path);

}  // namespace engine::model
