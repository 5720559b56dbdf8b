// How much memory keys and values take and how many tokens and users it holds: pure functions of
// shapes, shared by the memory estimate, the simulator, the planner and the views.
#pragma once

#include <cstdint>

#include "engine/api/accounting.h"
#include "engine/api/engine_config.h"

namespace engine::accounting {

// One head's key (or value) of one token as the cache holds it, scales and offsets included
// (kernels/core/kv_codec.h). Default counts as bf16.
double kvVectorBytes(KvDType dtype, std::int64_t headDim);

// 2 * Hkv * d * bytes: keys and values of one token in one layer. What counts is the number of
// key-value heads, not of query heads.
double kvBytesPerTokenLayer(KvDType dtype, std::int64_t numKvHeads, std::int64_t headDim);

// All layers together.
double kvBytesPerToken(const ModelShape& shape);

// The same model with keys and values for each query head (MHA), as it is (GQA), or for all heads
// together (MQA).
enum class HeadSharing : std::uint8_t { Mha, Gqa, Mqa };
double kvBytesPerToken(const ModelShape& shape, HeadSharing sharing);

// Memory of one device or of several that share a model.
struct MemoryBudget {
  double memoryBytes = 0;       // all devices together
  double usableFraction = 0.9;  // the rest is left to scratch memory and fragmentation
  double weightBytes = 0;       // all of them
};

// Bytes left for keys and values; negative when the weights alone do not fit.
double poolBytes(const MemoryBudget& budget);

// Whole tokens that the pool holds; 0 when nothing is left.
std::int64_t capacityTokens(double poolBytes, double kvBytesPerToken);

// Sequences of `length` tokens that fit at once, each rounded up to whole blocks.
std::int64_t capacityUsers(std::int64_t capacityTokens, std::int64_t length, int blockSize);

}  // namespace engine::accounting
