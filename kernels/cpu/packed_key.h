// The name of packed weights: a hash of all that decides their bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "kernels/core/weight_view.h"
#include "kernels/cpu/content_hash.h"
#include "kernels/cpu/load_watch.h"
#include "kernels/cpu/thread_pool.h"
#include "kernels/cpu/tile_layout.h"

namespace kernels::cpu {

// To be raised whenever packing puts any byte elsewhere: files of another number are not read.
inline constexpr std::uint32_t kPackedFormat = 1;

// Of the sources' types, shapes and bytes in their order, the order of codes and kPackedFormat.
// Reads every byte, with all threads of the pool, then lets go of them; nothing when the watch
// cancelled. The bytes must not change before they are packed.
std::optional<ContentHash> packedKey(std::span<const WeightView> sources,
                                     CodeOrder order,
                                     ThreadPool& pool,
                                     const LoadWatch& watch);

}  // namespace kernels::cpu
