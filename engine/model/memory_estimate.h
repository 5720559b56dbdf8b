// Bytes that a model will take, itemised, before it is loaded.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/api/engine_config.h"
#include "engine/api/message.h"
#include "engine/base/result.h"
#include "engine/model/weight_source.h"
#include "kernels/core/kv_layout.h"

namespace engine::model {

// Bytes that new allocations can get without swapping; empty when the system does not tell.
std::optional<std::int64_t> freeMemoryBytes();
// The same from the text of /proc/meminfo.
std::optional<std::int64_t> parseFreeMemory(std::string_view meminfo);

// Shape of the KV pool under `config`, numBlocks still 0. KvDType::Default is f32 when `config`
// asks for the reference recipe, else bf16.
kernels::KvLayout kvLayoutOf(const kernels::DecoderSpec& spec, const LoadConfig& config);

// Blocks that --max-seqs sequences of `maxContext` tokens can use at the same time.
std::int64_t usefulBlocks(const EngineConfig& config, std::int64_t maxContext);

// Number of blocks: kvBlocks as asked; else what fits kvMemoryBytes; else what fits a quarter of
// `freeBytes`, at most 4 GiB and at most `useful` blocks. InvalidArgument when that is not one
// block, or more than 2^31-1 are asked for.
Result<std::int64_t> resolveKvBlocks(const LoadConfig& config,
                                     std::int64_t bytesPerBlock,
                                     std::int64_t freeBytes,
                                     std::int64_t useful);

// Bytes of the matrices that a backend keeps in memory and of the float vectors. An embedding of its
// own stays in the file, whose rows are read as tokens ask for them; a tied one is the output.
std::int64_t weightBytes(const kernels::DecoderWeights& weights);

// A vocabulary's texts, its merges and the look-up tables over both.
std::int64_t vocabularyBytes(std::int64_t vocabSize);

// Rows that the backend computes at once, whatever a step's budget is: enough to be fast, few enough
// for its scratch to be small.
int backendRows(const SchedulerLimits& limits);

// Activations of a step of `rows` tokens and one row of logits, as float32.
std::int64_t activationBytes(const kernels::DecoderSpec& spec, std::int64_t rows);

// Errors as the sources' configs and weights, and as resolveKvBlocks.
// draft: a draft model whose pool holds as many tokens beside the large one's; null = none.
Result<MemoryEstimate> estimateMemory(const WeightSource& source,
                                      const EngineConfig& config,
                                      std::int64_t freeBytes,
                                      const WeightSource* draft = nullptr);

}  // namespace engine::model
