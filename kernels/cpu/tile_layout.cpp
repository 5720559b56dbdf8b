#include "kernels/cpu/tile_layout.h"

#include <algorithm>

namespace kernels::cpu {

TileLayout tileLayoutOf(DType type, CodeOrder order) {
  switch (type) {
    case DType::F32:
      return {CodeLayout::F32, ScaleLayout::None, order};
    case DType::F16:
      return {CodeLayout::F16, ScaleLayout::None, order};
    case DType::BF16:
      return {CodeLayout::BF16, ScaleLayout::None, order};
    case DType::Q4_0:
      return {CodeLayout::Nibble, ScaleLayout::Half, order};
    case DType::Q4_1:
      return {CodeLayout::Nibble, ScaleLayout::HalfMin, order};
    case DType::Q5_0:
      return {CodeLayout::Five, ScaleLayout::Half, order};
    case DType::Q5_1:
      return {CodeLayout::Five, ScaleLayout::HalfMin, order};
    case DType::Q8_0:
      return {CodeLayout::Byte, ScaleLayout::Half, order};
    case DType::Q2_K:
      return {CodeLayout::Two, ScaleLayout::Super16Min, order};
    case DType::Q3_K:
      return {CodeLayout::Three, ScaleLayout::Super16, order};
    case DType::Q4_K:
      return {CodeLayout::Nibble, ScaleLayout::SuperMin, order};
    case DType::Q5_K:
      return {CodeLayout::Five, ScaleLayout::SuperMin, order};
    case DType::Q6_K:
      return {CodeLayout::Six, ScaleLayout::Super16, order};
    case DType::IQ4_NL:
      return {CodeLayout::NibbleTable, ScaleLayout::Half, order};
    case DType::IQ4_XS:
      return {CodeLayout::NibbleTable, ScaleLayout::Super, order};
  }
  return {};
}

const char* slowReason(TileLayout layout) {
  if (!isPlainFloat(layout)) return nullptr;
  return layout.order == CodeOrder::ByPair
             ? "multiplied in float32 without tile registers"
             : "multiplied in float32 without int8 dot instructions";
}

std::string slowFormatsNote(std::span<const DType> types, CodeOrder order) {
  std::string note;
  for (int t = 0; t < kNumDTypes; ++t) {
    const auto type = static_cast<DType>(t);
    const char* reason = slowReason(tileLayoutOf(type, order));
    if (reason == nullptr || std::find(types.begin(), types.end(), type) == types.end()) continue;
    note += std::string(note.empty() ? "slow weights: " : "; ") + dtypeInfo(type).name + " is " +
            reason;
  }
  return note;
}

bool isPlainFloat(TileLayout layout) {
  const bool isTiled = layout.codes == CodeLayout::BF16 && layout.order == CodeOrder::ByPair;
  return layout.scales == ScaleLayout::None && !isTiled;
}

bool hasSuperBlocks(TileLayout layout) {
  return superHeaderBytes(layout) > 0;
}

std::size_t codeBytes(TileLayout layout) {
  switch (layout.codes) {
    case CodeLayout::Nibble:
    case CodeLayout::NibbleTable:
      return 512;
    case CodeLayout::Five:
      return 640;
    case CodeLayout::Six:
      return 768;
    case CodeLayout::Two:
      return 256;
    case CodeLayout::Three:
      return 384;
    case CodeLayout::Byte:
      return 1024;
    case CodeLayout::F16:
    case CodeLayout::BF16:
      return 2048;
    case CodeLayout::F32:
      return 4096;
  }
  return 0;
}

std::size_t groupScaleBytes(TileLayout layout) {
  switch (layout.scales) {
    case ScaleLayout::Half:
      return 64;
    case ScaleLayout::HalfMin:
      return 128;
    default:
      return 0;
  }
}

std::size_t superHeaderBytes(TileLayout layout) {
  switch (layout.scales) {
    case ScaleLayout::Super:
      return 64 + 256;
    case ScaleLayout::SuperMin:
      return 128 + 2 * 256;
    case ScaleLayout::Super16:
      return 64 + 512;
    case ScaleLayout::Super16Min:
      return 128 + 512;
    default:
      return 0;
  }
}

std::size_t tileBytes(TileLayout layout, int numGroups) {
  const auto groups = static_cast<std::size_t>(numGroups);
  return groups * (codeBytes(layout) + groupScaleBytes(layout)) +
         groups / kGroupsPerSuper * superHeaderBytes(layout);
}

}  // namespace kernels::cpu
