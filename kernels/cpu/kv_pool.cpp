#include "kernels/cpu/kv_pool.h"

#include <cstring>
#include <string>

#include "kernels/core/kv_codec.h"

namespace kernels::cpu {

namespace {

// Vector loads may run past the last element of a plane; those lanes are dropped.
constexpr std::size_t kOverreadBytes = 256;

// Into a plane that holds groups of 16 tokens. Depth: elements that lie together.
template <typename Element, int kDepth>
void storeGroupedKey(std::byte* plane, int headDim, int offset, const void* elements) {
  const auto* from = static_cast<const Element*>(elements);
  const int group = offset / kGroupTokens, token = offset % kGroupTokens;
  Element* to = reinterpret_cast<Element*>(plane) +
                static_cast<std::ptrdiff_t>(group) * kGroupTokens * headDim + token * kDepth;
  for (int d = 0; d < headDim; d += kDepth, to += kGroupTokens * kDepth) {
    for (int i = 0; i < kDepth; ++i) to[i] = from[d + i];
  }
}

template <typename Element, int kDepth>
void storeGroupedValue(std::byte* plane, int headDim, int offset, const void* elements) {
  const auto* from = static_cast<const Element*>(elements);
  Element* to = reinterpret_cast<Element*>(plane) +
                static_cast<std::ptrdiff_t>(offset / kDepth * kDepth) * headDim + offset % kDepth;
  for (int d = 0; d < headDim; ++d, to += kDepth) *to = from[d];
}

void storePlain(const KvPlanes& planes, std::byte* plane, int offset, const void* elements) {
  std::memcpy(plane + static_cast<std::size_t>(offset) * planes.codeBytes, elements,
              planes.codeBytes);
}

// Behind the plane's elements; each token's own bytes, so that threads may write neighbours at once.
void storeParameters(const KvPlanes& planes, std::byte* plane, int offset, const void* elements) {
  const std::byte* from = static_cast<const std::byte*>(elements) + planes.codeBytes;
  const auto blockSize = static_cast<std::size_t>(planes.blockSize);
  std::byte* to = plane + blockSize * planes.codeBytes + 2 * static_cast<std::size_t>(offset);
  for (int i = 0; i < planes.numParameters; ++i) {
    std::memcpy(to + static_cast<std::size_t>(i) * 2 * blockSize, from + 2 * i, 2);
  }
}

std::byte* keyPlane(const KvPlanes& planes, std::int32_t block) {
  return const_cast<std::byte*>(planes.pool) + static_cast<std::size_t>(block) * planes.blockBytes;
}

}  // namespace

Status KvPool::reserve(const KvLayout& layout) {
  m_layout = layout;
  const std::size_t blockBytes = layout.bytesPerBlock();
  const auto numBlocks = static_cast<std::size_t>(layout.numBlocks);
  const bool fits = numBlocks <= (SIZE_MAX / 4) / blockBytes;
  if (!fits || !m_arena.reserve(numBlocks * blockBytes + kOverreadBytes)) {
    return Status::failed(Outcome::OutOfMemory,
                          "no memory for a KV pool of " + std::to_string(layout.numBlocks) +
                              " blocks of " + std::to_string(blockBytes) + " bytes");
  }
  m_bytes = m_arena.allocate(numBlocks * blockBytes);
  return Status::ok();
}

KvPlanes KvPool::planes(int layer, int kvHead) const {
  KvPlanes planes;
  planes.type = m_layout.type;
  planes.headDim = m_layout.headDim;
  planes.blockSize = m_layout.blockSize;
  planes.blockShift = m_layout.blockShift();
  planes.blockBytes = m_layout.bytesPerBlock();
  planes.codeBytes = kvCodeBytes(planes.type, planes.headDim);
  planes.numParameters = kvParameters(planes.type, planes.headDim);
  planes.planeBytes = static_cast<std::size_t>(m_layout.blockSize) *
                      kvVectorBytes(planes.type, planes.headDim);
  planes.pool = m_bytes + static_cast<std::size_t>(layer * m_layout.numKvHeads + kvHead) * 2 *
                              planes.planeBytes;
  return planes;
}

void KvPool::storeKey(int layer, int kvHead, std::int32_t block, int offset, const void* elements) {
  const KvPlanes at = planes(layer, kvHead);
  std::byte* plane = keyPlane(at, block);
  storeParameters(at, plane, offset, elements);
  if (!isGrouped(at)) return storePlain(at, plane, offset, elements);
  switch (at.type) {
    case KvType::F32:
      return storeGroupedKey<float, 1>(plane, at.headDim, offset, elements);
    case KvType::F16:
      return storeGroupedKey<std::uint16_t, 1>(plane, at.headDim, offset, elements);
    case KvType::BF16:
      return storeGroupedKey<std::uint16_t, 2>(plane, at.headDim, offset, elements);
    default:
      return storeGroupedKey<std::byte, 1>(plane, static_cast<int>(at.codeBytes), offset, elements);
  }
}

void KvPool::storeValue(
    int layer, int kvHead, std::int32_t block, int offset, const void* elements) {
  const KvPlanes at = planes(layer, kvHead);
  std::byte* plane = keyPlane(at, block) + at.planeBytes;
  storeParameters(at, plane, offset, elements);
  if (!isGrouped(at)) return storePlain(at, plane, offset, elements);
  switch (at.type) {
    case KvType::F32:
      return storeGroupedValue<float, 1>(plane, at.headDim, offset, elements);
    case KvType::F16:
      return storeGroupedValue<std::uint16_t, 1>(plane, at.headDim, offset, elements);
    case KvType::BF16:
      return storeGroupedValue<std::uint16_t, 2>(plane, at.headDim, offset, elements);
    default:
      return storePlain(at, plane, offset, elements);
  }
}

}  // namespace kernels::cpu
