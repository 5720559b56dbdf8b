// Finds the keys and values of 64 tokens in the paged cache, as the products read them; included by
// attention files only.
#pragma once

#include "kernels/cpu/attention.h"
#include "kernels/cpu/attention_codecs.h"
#include "kernels/cpu/attention_fetch.h"

namespace kernels::cpu {

// 64 keys and values at absolute positions, as groups of 16 that lie together.
template <typename Element>
struct KeyStep {
  static constexpr int kGroups = kStepTokens / kGroupTokens;
  const Element* keys[kGroups];
  const Element* values[kGroups];
  int begin = 0;           // position of the first token
  int first = 0, end = 0;  // tokens of the step that some row sees, relative to begin
};

// Elements where they are when blocks hold whole groups of 16, else gathered or decoded into
// buffers of its own, which the next step overwrites.
template <typename Form>
class KeyStepReader {
  using Element = typename Form::Element;
  using Step = KeyStep<Element>;
  static constexpr bool kIsCoded = requires { typename Form::Codec; };
  static constexpr bool kHasTiles = requires { typename Form::Tiles; };

 public:
  // keys [64, headDim], values [64, headDim] and a vector beyond; regrouped: codes of small blocks.
  KeyStepReader(const AttentionItem& item, Element* keys, Element* values, std::byte* regrouped)
      : m_item(item),
        m_dim(item.planes.headDim),
        m_packedKeys(keys),
        m_packedValues(values),
        m_regrouped(regrouped) {}

  // Points at the groups of the step at position `begin`, through the block table.
  void read(int begin, Step& step) {
    step.begin = begin;
    const int first = firstVisible(m_item.firstPosition, m_item.window) - begin;
    const int end = lastPositionOf(m_item) + 1 - begin;
    step.first = first > 0 ? first : 0;
    step.end = end < kStepTokens ? end : kStepTokens;
    const int firstGroup = step.first / kGroupTokens, lastGroup = (step.end - 1) / kGroupTokens;
    for (int group = firstGroup; group <= lastGroup; ++group) gatherGroup(step, group);
    for (int group = 0; group < Step::kGroups; ++group) {
      if (group >= firstGroup && group <= lastGroup) continue;
      step.keys[group] = step.keys[firstGroup];  // its scores are masked, its values never read
      step.values[group] = step.values[firstGroup];
    }
    if constexpr (kHasTiles) {
      for (int group = firstGroup; group <= lastGroup; ++group) blankUnseen(step, group);
    }
  }

 private:
  // Tiles multiply whole groups: tokens that no row sees must be zero, whatever lies in their
  // place.
  void blankUnseen(Step& step, int group) {
    const int first = step.first - group * kGroupTokens, end = step.end - group * kGroupTokens;
    if (first <= 0 && end >= kGroupTokens) return;
    const std::ptrdiff_t elements = static_cast<std::ptrdiff_t>(kGroupTokens) * m_dim;
    Element* values = m_packedValues + group * elements;
    if (step.values[group] != values) {
      __builtin_memcpy(values, step.values[group],
                       static_cast<std::size_t>(elements) * sizeof(Element));
    }
    for (int token = 0; token < kGroupTokens; ++token) {
      if (token >= first && token < end) continue;
      Element* to = values + token / Form::kDepth * Form::kDepth * m_dim + token % Form::kDepth;
      for (int d = 0; d < m_dim; ++d) to[d * Form::kDepth] = 0;
    }
    step.values[group] = values;
  }

  void gatherGroup(Step& step, int group) {
    const KvPlanes& planes = m_item.planes;
    const int position = step.begin + group * kGroupTokens;
    const std::ptrdiff_t groupElements = static_cast<std::ptrdiff_t>(kGroupTokens) * m_dim;
    if constexpr (kIsCoded) return decodeGroup(step, group);
    if (isGrouped(planes)) {
      const std::byte* key = keyPlaneAt(m_item, position);
      const int offset = position & (planes.blockSize - 1);
      const std::ptrdiff_t skip = offset / kGroupTokens * groupElements;
      step.keys[group] = reinterpret_cast<const Element*>(key) + skip;
      step.values[group] = reinterpret_cast<const Element*>(key + planes.planeBytes) + skip;
      return;
    }
    Element* keys = m_packedKeys + group * groupElements;
    Element* values = m_packedValues + group * groupElements;
    const int groupFirst = step.first - group * kGroupTokens,
              groupEnd = step.end - group * kGroupTokens;
    for (int token = groupFirst > 0 ? groupFirst : 0;
         token < (groupEnd < kGroupTokens ? groupEnd : kGroupTokens); ++token) {
      packToken(position + token, token, keys, values);
    }
    step.keys[group] = keys;
    step.values[group] = values;
  }

  void decodeGroup(Step& step, int group) {
    const KvPlanes& planes = m_item.planes;
    const std::ptrdiff_t elements = static_cast<std::ptrdiff_t>(kGroupTokens) * m_dim;
    const int position = step.begin + group * kGroupTokens;
    CodedGroup keys, values;
    if (isGrouped(planes)) {
      const std::byte* plane = keyPlaneAt(m_item, position);
      keys = codedGroup(planes, plane, position & (planes.blockSize - 1));
      values = codedGroup(planes, plane + planes.planeBytes, position & (planes.blockSize - 1));
    } else {
      regroup(step, group, keys, values);
    }
    float* keysOut = m_packedKeys + group * elements;
    float* valuesOut = m_packedValues + group * elements;
    Form::Codec::keys(keys, m_dim, keysOut);
    Form::Codec::values(values, m_dim, valuesOut);
    step.keys[group] = keysOut;
    step.values[group] = valuesOut;
  }

  // Gathers the group's tokens that some row sees from small blocks.
  void regroup(const Step& step, int group, CodedGroup& keys, CodedGroup& values) {
    const KvPlanes& planes = m_item.planes;
    GroupBuffer buffers(planes, m_regrouped);
    const int first = step.first - group * kGroupTokens, end = step.end - group * kGroupTokens;
    for (int token = first > 0 ? first : 0; token < (end < kGroupTokens ? end : kGroupTokens);
         ++token) {
      const int position = step.begin + group * kGroupTokens + token;
      const std::byte* plane = keyPlaneAt(m_item, position);
      const int offset = position & (planes.blockSize - 1);
      buffers.addKey(plane, offset, token);
      buffers.addValue(plane + planes.planeBytes, offset, token);
    }
    keys = buffers.keys();
    values = buffers.values();
  }

  void packToken(int position, int token, Element* keys, Element* values) const {
    const KvPlanes& planes = m_item.planes;
    const std::byte* plane = keyPlaneAt(m_item, position);
    const std::ptrdiff_t skip =
        static_cast<std::ptrdiff_t>(position & (planes.blockSize - 1)) * m_dim;
    const Element* key = reinterpret_cast<const Element*>(plane) + skip;
    const Element* value = reinterpret_cast<const Element*>(plane + planes.planeBytes) + skip;
    constexpr int kDepth = Form::kDepth;
    Element* v = values + token / kDepth * kDepth * m_dim + token % kDepth;
    for (int d = 0; d < m_dim; ++d) {
      keys[(d / kDepth * kGroupTokens + token) * kDepth + d % kDepth] = key[d];
      v[d * kDepth] = value[d];
    }
  }

  const AttentionItem& m_item;
  const int m_dim;
  Element* const m_packedKeys;
  Element* const m_packedValues;
  std::byte* const m_regrouped;
};

}  // namespace kernels::cpu
