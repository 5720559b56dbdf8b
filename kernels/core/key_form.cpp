#include "kernels/core/key_form.h"

#include <cmath>
#include <cstddef>

#include "kernels/core/kv_codec.h"

namespace kernels {

namespace {

// What a pair of a key and of a query is taken to carry beside its bias; half or twice as much
// hardly matters.
constexpr float kKeySize = 2.0f, kQuerySize = 4.0f;

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

// Elements that turn together, or one that does not turn (both the same).
struct Pair {
  std::size_t first, second;
  bool isSlow;
  float magnitude;
};

std::vector<Pair> pairsOf(const RopeSpec& rope, int headDim) {
  std::vector<Pair> pairs;
  const std::size_t count = rope.inverseFrequencies.size();
  const bool isInterleaved = rope.pairing == RopePairing::Interleaved;
  for (std::size_t i = 0; i < count; ++i) {
    const bool isSlow = rope.inverseFrequencies[i] * kSlowPositions <= 1.0f;
    pairs.push_back(
        {isInterleaved ? 2 * i : i, isInterleaved ? 2 * i + 1 : i + count, isSlow, rope.magnitude});
  }
  for (std::size_t i = 2 * count; i < at(headDim); ++i) pairs.push_back({i, i, true, 1.0f});
  return pairs;
}

float squareOf(const float* head, const Pair& pair) {
  return head[pair.first] * head[pair.first] + head[pair.second] * head[pair.second];
}

// Mean over the query heads that read the key head; 0 without a bias.
float querySquare(const DecoderSpec& spec,
                  const std::vector<float>& qBias,
                  int kvHead,
                  const Pair& pair) {
  if (qBias.empty()) return 0.0f;
  const int group = spec.numHeads / spec.numKvHeads;
  float sum = 0.0f;
  for (int i = 0; i < group; ++i) {
    sum += squareOf(qBias.data() + at(kvHead * group + i) * at(spec.headDim), pair);
  }
  return sum / static_cast<float>(group);
}

}  // namespace

KeyForm keyForm(const DecoderSpec& spec, int layer, const LayerWeights& weights, KvType type) {
  KeyForm form;
  // a cap bends the scores before softmax; a norm after the bias makes it differ from key to key
  if (!isQuantizedKv(type) || weights.kBias.empty() || !weights.kNorm.empty() ||
      spec.attentionSoftCap != 0.0f) {
    return form;
  }
  form.shift.assign(weights.kBias.size(), 0.0f);
  form.keyScale.assign(weights.kBias.size(), 1.0f);
  form.queryScale = form.keyScale;
  const RopeSpec& rope = spec.ropes[at(spec.layers[at(layer)].rope)];
  for (int head = 0; head < spec.numKvHeads; ++head) {
    const std::size_t begin = at(head) * at(spec.headDim);
    const float* bias = weights.kBias.data() + begin;
    for (const Pair& pair : pairsOf(rope, spec.headDim)) {
      if (pair.isSlow) {
        for (const std::size_t i : {pair.first, pair.second}) {
          form.shift[begin + i] = pair.magnitude * bias[i];
        }
      }
      if (!isTurnedKv(type)) continue;  // its elements have scales of their own
      const float left = pair.isSlow ? 0.0f : squareOf(bias, pair);
      const float key = std::sqrt(kKeySize * kKeySize + left);
      const float query =
          std::sqrt(kQuerySize * kQuerySize + querySquare(spec, weights.qBias, head, pair));
      for (const std::size_t i : {pair.first, pair.second}) {
        form.keyScale[begin + i] = std::sqrt(query / key);
        form.queryScale[begin + i] = std::sqrt(key / query);
      }
    }
  }
  return form;
}

void shapeKey(const KeyForm& form, int kvHead, int headDim, float* key) {
  if (form.isPlain()) return;
  const std::size_t begin = at(kvHead) * at(headDim);
  for (std::size_t i = 0; i < at(headDim); ++i) {
    key[i] = (key[i] - form.shift[begin + i]) * form.keyScale[begin + i];
  }
}

void shapeQuery(const KeyForm& form, int kvHead, int headDim, float* query) {
  if (form.isPlain()) return;
  const std::size_t begin = at(kvHead) * at(headDim);
  for (std::size_t i = 0; i < at(headDim); ++i) query[i] *= form.queryScale[begin + i];
}

}  // namespace kernels
