// The key-value part of a model file as JSON.
#pragma once

#include "app/cli/cli_io.h"
#include "engine/model/gguf_metadata.h"

namespace app::cli {

// Keys in file order. Arrays of more than 256 elements (vocabularies) are summed up as
// {"array_of", "count"}.
Json metadataJson(const engine::model::GgufMetadata& metadata);

}  // namespace app::cli
