#include "engine/api/capacity.h"

#include "engine/api/kv_type.h"
#include "kernels/core/kv_codec.h"

namespace engine::accounting {

double kvVectorBytes(KvDType dtype, std::int64_t headDim) {
  const kernels::KvType type = kvTypeOf(dtype).value_or(kernels::KvType::BF16);
  return static_cast<double>(kernels::kvVectorBytes(type, static_cast<int>(headDim)));
}

double kvBytesPerTokenLayer(KvDType dtype, std::int64_t numKvHeads, std::int64_t headDim) {
  return 2 * static_cast<double>(numKvHeads) * kvVectorBytes(dtype, headDim);
}

double kvBytesPerToken(const ModelShape& shape) {
  return static_cast<double>(shape.numLayers) * shape.kvBytesPerTokenLayer;
}

double kvBytesPerToken(const ModelShape& shape, HeadSharing sharing) {
  const double perHead = kvBytesPerToken(shape) / static_cast<double>(shape.numKvHeads);
  switch (sharing) {
    case HeadSharing::Mha:
      return perHead * static_cast<double>(shape.numHeads);
    case HeadSharing::Mqa:
      return perHead;
    case HeadSharing::Gqa:
      break;
  }
  return kvBytesPerToken(shape);
}

double poolBytes(const MemoryBudget& budget) {
  return budget.memoryBytes * budget.usableFraction - budget.weightBytes;
}

std::int64_t capacityTokens(double poolBytes, double kvBytesPerToken) {
  if (poolBytes <= 0 || kvBytesPerToken <= 0) return 0;
  return static_cast<std::int64_t>(poolBytes / kvBytesPerToken);
}

std::int64_t capacityUsers(std::int64_t capacityTokens, std::int64_t length, int blockSize) {
  if (length <= 0) return 0;
  const std::int64_t blocks = capacityTokens / blockSize;
  return blocks / ((length + blockSize - 1) / blockSize);
}

}  // namespace engine::accounting
