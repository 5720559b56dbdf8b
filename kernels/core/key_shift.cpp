#include "kernels/core/key_shift.h"

#include <cstddef>

#include "kernels/core/kv_codec.h"

namespace kernels {

namespace {

// Factor of each element of a head's bias: 0 where it turns too fast.
std::vector<float> keptShares(const RopeSpec& rope, int headDim) {
  std::vector<float> shares(static_cast<std::size_t>(headDim), 1.0f);
  const std::size_t pairs = rope.inverseFrequencies.size();
  const bool isInterleaved = rope.pairing == RopePairing::Interleaved;
  for (std::size_t i = 0; i < pairs; ++i) {
    const bool isSlow = rope.inverseFrequencies[i] * kKeyShiftPositions <= 1.0f;
    const float share = isSlow ? rope.magnitude : 0.0f;
    shares[isInterleaved ? 2 * i : i] = share;
    shares[isInterleaved ? 2 * i + 1 : i + pairs] = share;
  }
  return shares;
}

}  // namespace

std::vector<float> keyShift(const DecoderSpec& spec,
                            int layer,
                            const std::vector<float>& kBias,
                            const std::vector<float>& kNorm,
                            KvType type) {
  // a cap bends the scores before softmax; a norm after the bias makes it differ from key to key
  if (!isQuantizedKv(type) || kBias.empty() || !kNorm.empty() || spec.attentionSoftCap != 0.0f) {
    return {};
  }
  const int rope = spec.layers[static_cast<std::size_t>(layer)].rope;
  const std::vector<float> shares =
      keptShares(spec.ropes[static_cast<std::size_t>(rope)], spec.headDim);
  std::vector<float> shift = kBias;
  for (std::size_t i = 0; i < shift.size(); ++i) shift[i] *= shares[i % shares.size()];
  return shift;
}

}  // namespace kernels
