// How keys with a large bias are brought into a form that few bits hold, at no cost to attention.
#pragma once

#include <vector>

#include "kernels/core/decoder_spec.h"
#include "kernels/core/dtype.h"

namespace kernels {

// A bias may be a hundred times what a key carries beside it (Qwen2) and would take all the codes.
// Two things leave the softmax of the scores as it is:
// - All keys of a head change by one vector: all scores of a query change by one number. So the
//   part of the bias that is the same at every position is left out, and never added back.
// - A pair of elements that turn together is divided in the keys and multiplied in the queries: so
//   where a bias turns with the position, keys give some of its size to the queries, which stay
//   floats.
// Finished key -> (key - shift) * keyScale, finished query -> query * queryScale. Each is
// [numKvHeads * headDim], or empty where nothing changes.
struct KeyForm {
  std::vector<float> shift, keyScale, queryScale;

  bool isPlain() const { return shift.empty(); }
};

// A pair is taken not to turn when it turns by a radian at most in this many positions.
inline constexpr float kSlowPositions = 8192.0f;

KeyForm keyForm(const DecoderSpec& spec, int layer, const LayerWeights& weights, KvType type);

// Of one head, after rope; nothing for a plain form.
void shapeKey(const KeyForm& form, int kvHead, int headDim, float* key);
void shapeQuery(const KeyForm& form, int kvHead, int headDim, float* query);

}  // namespace kernels
