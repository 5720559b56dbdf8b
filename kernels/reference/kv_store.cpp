#include "kernels/reference/kv_store.h"

#include <cstdlib>
#include <cstring>

#include "kernels/core/float_bits.h"
#include "kernels/core/kv_codec.h"

namespace kernels::reference {

void KvStore::Free::operator()(std::byte* bytes) const {
  std::free(bytes);
}

KvStore::KvStore(const KvLayout& layout)
    : m_layout(layout),
      m_bytes(static_cast<std::byte*>(
          std::calloc(static_cast<std::size_t>(layout.numBlocks), layout.bytesPerBlock()))) {}

std::byte* KvStore::vectorAt(
    int layer, KvSide side, int head, std::int32_t block, int offset) const {
  const auto at = [](auto value) { return static_cast<std::size_t>(value); };
  const std::size_t plane = 2 * at(layer) + (side == KvSide::Value ? 1 : 0);
  const std::size_t vector =
      (plane * at(m_layout.numKvHeads) + at(head)) * at(m_layout.blockSize) + at(offset);
  return blockBytes(block) + vector * kvVectorBytes(m_layout.type, m_layout.headDim);
}

void KvStore::write(
    int layer, KvSide side, int head, std::int32_t block, int offset, const float* values) {
  std::byte* to = vectorAt(layer, side, head, block, offset);
  const auto size = static_cast<std::size_t>(m_layout.headDim);
  if (m_layout.type == KvType::F32) {
    std::memcpy(to, values, size * 4);
    return;
  }
  if (isQuantizedKv(m_layout.type)) {
    return encodeKv(m_layout.type, values, m_layout.headDim, to);
  }
  for (std::size_t i = 0; i < size; ++i) {
    const std::uint16_t bits =
        m_layout.type == KvType::F16 ? f16OfFloat(values[i]) : bf16OfFloat(values[i]);
    std::memcpy(to + 2 * i, &bits, 2);
  }
}

void KvStore::read(
    int layer, KvSide side, int head, std::int32_t block, int offset, float* values) const {
  const std::byte* from = vectorAt(layer, side, head, block, offset);
  const auto size = static_cast<std::size_t>(m_layout.headDim);
  if (m_layout.type == KvType::F32) {
    std::memcpy(values, from, size * 4);
    return;
  }
  if (isQuantizedKv(m_layout.type)) {
    return decodeKv(m_layout.type, from, m_layout.headDim, values);
  }
  for (std::size_t i = 0; i < size; ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, from + 2 * i, 2);
    values[i] = m_layout.type == KvType::F16 ? floatOfF16(bits) : floatOfBf16(bits);
  }
}

}  // namespace kernels::reference
