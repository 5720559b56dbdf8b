// Snapshots as bytes: whole, or as what changed since the one before.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/api/snapshot.h"

namespace engine::trace {

// Appends. With a base only what differs from it is written; whoever reads needs the same base.
// The base must have as many blocks.
void encodeSnapshot(const EngineSnapshot& snapshot, const EngineSnapshot* base, std::string& out);

// Nothing when the bytes are not such a snapshot.
std::optional<EngineSnapshot> decodeSnapshot(std::string_view bytes, const EngineSnapshot* base);

}  // namespace engine::trace
