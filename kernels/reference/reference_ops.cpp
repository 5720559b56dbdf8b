#include "kernels/reference/reference_ops.h"

#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>

#include "kernels/core/hadamard.h"
#include "kernels/core/kv_codec.h"
#include "kernels/core/request_check.h"
#include "kernels/core/rope_angles.h"
#include "kernels/core/unpack.h"
#include "kernels/reference/parallel_for.h"
#include "kernels/reference/plain_math.h"

namespace kernels::reference {

namespace {

std::size_t at(std::int64_t value) {
  return static_cast<std::size_t>(value);
}

Status cancelledUnless(bool isWhole) {
  return isWhole ? Status::ok() : Status::failed(Outcome::Cancelled, "the step was cancelled");
}

// Adds the time it lives to a counter.
class Stopwatch {
 public:
  explicit Stopwatch(double& ns) : m_ns(ns) {}

  ~Stopwatch() {
    m_ns += std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - m_start)
                .count();
  }

 private:
  double& m_ns;
  std::chrono::steady_clock::time_point m_start = std::chrono::steady_clock::now();
};

}  // namespace

ReferenceOps::ReferenceOps(const BackendRequest& request)
    : m_spec(*request.spec),
      m_weights(*request.weights),
      m_kv(request.layout),
      m_maxBatchedTokens(request.maxBatchedTokens),
      m_numThreads(request.threads),
      m_hidden(at(m_spec.hidden)),
      m_queryWidth(at(m_spec.numHeads * m_spec.headDim)),
      m_keyWidth(at(m_spec.numKvHeads * m_spec.headDim)),
      m_ffn(at(m_spec.ffn)) {
  const std::size_t rows = at(m_maxBatchedTokens);
  for (std::vector<float>* buffer : {&m_x, &m_normed, &m_update}) buffer->resize(rows * m_hidden);
  for (std::vector<float>* buffer : {&m_query, &m_attended}) buffer->resize(rows * m_queryWidth);
  for (std::vector<float>* buffer : {&m_key, &m_value}) buffer->resize(rows * m_keyWidth);
  for (std::vector<float>* buffer : {&m_gate, &m_up}) buffer->resize(rows * m_ffn);
  for (int layer = 0; layer < m_spec.numLayers; ++layer) {
    const LayerWeights& w = m_weights.layers[at(layer)];
    m_keyForms.push_back(keyForm(m_spec, layer, w, request.layout.type));
  }
}

BackendInfo ReferenceOps::info() const {
  BackendInfo info;
  info.device = "CPU";
  info.isa = "reference";
  info.note = "plain f32 loops, slow: for checking results";
  info.threads = m_numThreads;
  const KvLayout& layout = m_kv.layout();
  info.kvBytes = at(layout.numBlocks) * layout.bytesPerBlock();
  info.scratchBytes =
      4 * at(m_maxBatchedTokens) * (3 * m_hidden + 2 * m_queryWidth + 2 * m_keyWidth + 2 * m_ffn);
  return info;  // weightBytes stays 0: the file's own bytes are used
}

Status ReferenceOps::embed(const RaggedBatch& batch) {
  Status status = checkBatch(batch, m_kv.layout(), m_spec.vocabSize, m_maxBatchedTokens);
  if (!status.isOk()) return status;
  const WeightView& table = m_weights.embedding;
  const std::size_t stride = rowBytes(table.type, table.cols);
  for (int row = 0; row < batch.numTokens; ++row) {
    float* x = &m_x[at(row) * m_hidden];
    unpackRow(table.type, table.data + at(batch.tokens[row]) * stride, table.cols, x);
    for (std::size_t i = 0; i < m_hidden; ++i) x[i] *= m_spec.embedScale;
  }
  return Status::ok();
}

bool ReferenceOps::linear(const RaggedBatch& batch,
                          int numRows,
                          const WeightView& weights,
                          const float* x,
                          float* out,
                          std::size_t outStride) {
  const Stopwatch watch(m_counters.linearNs);
  m_counters.linearOps += 2.0 * numRows * static_cast<double>(weights.rows * weights.cols);
  const std::size_t cols = at(weights.cols), stride = rowBytes(weights.type, weights.cols);
  constexpr std::int64_t kGrain = 16;  // weight rows between looks at the cancel flag
  return parallelFor(m_numThreads, weights.rows, kGrain, batch.cancel, [&](std::int64_t n) {
    thread_local std::vector<float> weightRow;
    weightRow.resize(cols);
    unpackRow(weights.type, weights.data + at(n) * stride, weights.cols, weightRow.data());
    for (std::size_t row = 0; row < at(numRows); ++row) {
      out[row * outStride + at(n)] = dot(weightRow.data(), x + row * cols, cols);
    }
  });
}

void ReferenceOps::normRows(int numRows,
                            const float* x,
                            const std::vector<float>& weight,
                            float* out) {
  for (std::size_t row = 0; row < at(numRows); ++row) {
    rmsNorm(x + row * m_hidden, weight, m_spec.normEps, out + row * m_hidden);
  }
}

void ReferenceOps::finishHeads(int layer,
                               std::int64_t position,
                               int numHeads,
                               const std::vector<float>& bias,
                               const std::vector<float>& norm,
                               float* heads) {
  const std::size_t dim = at(m_spec.headDim);
  const RopeSpec& rope = m_spec.ropes[at(m_spec.layers[at(layer)].rope)];
  std::vector<float> cosines(rope.inverseFrequencies.size()), sines(cosines.size());
  ropeAngles(rope, position, cosines.data(), sines.data());
  for (std::size_t i = 0; i < bias.size(); ++i) heads[i] += bias[i];
  for (std::size_t head = 0; head < at(numHeads); ++head) {
    float* values = heads + head * dim;
    if (!norm.empty()) rmsNorm(values, norm, m_spec.normEps, values);
    rotate(rope, m_spec.headDim, cosines.data(), sines.data(), values);
  }
}

void ReferenceOps::shapeHeads(const KeyForm& form, float* queries, float* keys) const {
  const std::size_t dim = at(m_spec.headDim);
  const int group = m_spec.numHeads / m_spec.numKvHeads;
  for (int head = 0; head < m_spec.numHeads; ++head) {
    shapeQuery(form, head / group, m_spec.headDim, queries + at(head) * dim);
  }
  for (int head = 0; head < m_spec.numKvHeads; ++head) {
    shapeKey(form, head, m_spec.headDim, keys + at(head) * dim);
  }
}

// Does nothing for the cache types that do not need it.
void ReferenceOps::turnHeads(int numHeads, Turn turn, float* heads) const {
  if (!isTurnedKv(m_kv.layout().type)) return;
  for (int head = 0; head < numHeads; ++head) {
    turnHead(heads + at(head) * at(m_spec.headDim), m_spec.headDim, turn);
  }
}

void ReferenceOps::storeRow(
    int layer, const RaggedBatch& batch, int row, const float* keys, const float* values) {
  const KvLayout& layout = m_kv.layout();
  const std::int64_t position = batch.positions[row];
  const std::int32_t* table = batch.blockTable + at(batch.sequences[row]) * at(batch.maxBlocks);
  const std::int32_t block = table[layout.blockOf(position)];
  const int offset = layout.offsetOf(position);
  for (int head = 0; head < layout.numKvHeads; ++head) {
    const std::size_t from = at(head) * at(layout.headDim);
    m_kv.write(layer, KvSide::Key, head, block, offset, keys + from);
    m_kv.write(layer, KvSide::Value, head, block, offset, values + from);
  }
}

Status ReferenceOps::qkv(int layer, const RaggedBatch& batch) {
  const LayerWeights& w = m_weights.layers[at(layer)];
  normRows(batch.numTokens, m_x.data(), w.attnNorm, m_normed.data());
  const float* x = m_normed.data();
  if (!linear(batch, batch.numTokens, w.q, x, m_query.data(), m_queryWidth) ||
      !linear(batch, batch.numTokens, w.k, x, m_key.data(), m_keyWidth) ||
      !linear(batch, batch.numTokens, w.v, x, m_value.data(), m_keyWidth)) {
    return cancelledUnless(false);
  }
  for (int row = 0; row < batch.numTokens; ++row) {
    float* query = &m_query[at(row) * m_queryWidth];
    float* key = &m_key[at(row) * m_keyWidth];
    float* value = &m_value[at(row) * m_keyWidth];
    finishHeads(layer, batch.positions[row], m_spec.numHeads, w.qBias, w.qNorm, query);
    finishHeads(layer, batch.positions[row], m_spec.numKvHeads, w.kBias, w.kNorm, key);
    shapeHeads(m_keyForms[at(layer)], query, key);
    for (std::size_t i = 0; i < w.vBias.size(); ++i) value[i] += w.vBias[i];
    turnHeads(m_spec.numHeads, Turn::Forth, query);
    turnHeads(m_spec.numKvHeads, Turn::Forth, key);
    turnHeads(m_spec.numKvHeads, Turn::Forth, value);
    storeRow(layer, batch, row, key, value);
  }
  return Status::ok();
}

void ReferenceOps::attendHead(int layer, const RaggedBatch& batch, int row, int head) {
  const KvLayout& layout = m_kv.layout();
  const std::size_t dim = at(m_spec.headDim);
  const int kvHead = head / (m_spec.numHeads / m_spec.numKvHeads);
  const std::int64_t last = batch.positions[row], window = m_spec.layers[at(layer)].window;
  const std::int64_t first = window > 0 && last >= window ? last - window + 1 : 0;
  const std::int32_t* table = batch.blockTable + at(batch.sequences[row]) * at(batch.maxBlocks);
  const float* query = &m_query[at(row) * m_queryWidth + at(head) * dim];

  std::vector<float> vector(dim), scores(at(last - first + 1));
  float top = -std::numeric_limits<float>::infinity();
  for (std::int64_t p = first; p <= last; ++p) {
    m_kv.read(layer, KvSide::Key, kvHead, table[layout.blockOf(p)], layout.offsetOf(p),
              vector.data());
    const float scaled = dot(query, vector.data(), dim) * m_spec.attentionScale;
    const float score = softCap(scaled, m_spec.attentionSoftCap);
    scores[at(p - first)] = score;
    top = std::fmax(top, score);
  }
  double total = 0.0;
  std::vector<double> sums(dim, 0.0);
  for (std::int64_t p = first; p <= last; ++p) {
    const double weight = std::exp(static_cast<double>(scores[at(p - first)] - top));
    total += weight;
    m_kv.read(layer, KvSide::Value, kvHead, table[layout.blockOf(p)], layout.offsetOf(p),
              vector.data());
    for (std::size_t i = 0; i < dim; ++i) sums[i] += weight * static_cast<double>(vector[i]);
  }
  float* out = &m_attended[at(row) * m_queryWidth + at(head) * dim];
  for (std::size_t i = 0; i < dim; ++i) out[i] = static_cast<float>(sums[i] / total);
  turnHeads(1, Turn::Back, out);
}

Status ReferenceOps::attend(int layer, const RaggedBatch& batch) {
  const Stopwatch watch(m_counters.attentionNs);
  const std::int64_t items = static_cast<std::int64_t>(batch.numTokens) * m_spec.numHeads;
  return cancelledUnless(parallelFor(m_numThreads, items, 1, batch.cancel, [&](std::int64_t item) {
    attendHead(layer, batch, static_cast<int>(item / m_spec.numHeads),
               static_cast<int>(item % m_spec.numHeads));
  }));
}

void ReferenceOps::addToResidual(int numRows,
                                 const float* update,
                                 const std::vector<float>& postNorm) {
  if (!postNorm.empty()) {
    normRows(numRows, update, postNorm, m_normed.data());
    update = m_normed.data();
  }
  for (std::size_t i = 0; i < at(numRows) * m_hidden; ++i) m_x[i] += update[i];
}

Status ReferenceOps::project(int layer, const RaggedBatch& batch) {
  const LayerWeights& w = m_weights.layers[at(layer)];
  if (!linear(batch, batch.numTokens, w.attnOut, m_attended.data(), m_update.data(), m_hidden)) {
    return cancelledUnless(false);
  }
  addToResidual(batch.numTokens, m_update.data(), w.postAttnNorm);
  return Status::ok();
}

Status ReferenceOps::mlp(int layer, const RaggedBatch& batch) {
  const LayerWeights& w = m_weights.layers[at(layer)];
  normRows(batch.numTokens, m_x.data(), w.ffnNorm, m_normed.data());
  const float* x = m_normed.data();
  if (!linear(batch, batch.numTokens, w.gate, x, m_gate.data(), m_ffn) ||
      !linear(batch, batch.numTokens, w.up, x, m_up.data(), m_ffn)) {
    return cancelledUnless(false);
  }
  for (std::size_t i = 0; i < at(batch.numTokens) * m_ffn; ++i) {
    m_gate[i] = activate(m_spec.activation, m_gate[i]) * m_up[i];
  }
  if (!linear(batch, batch.numTokens, w.down, m_gate.data(), m_update.data(), m_hidden)) {
    return cancelledUnless(false);
  }
  addToResidual(batch.numTokens, m_update.data(), w.postFfnNorm);
  return Status::ok();
}

Status ReferenceOps::logits(
    const RaggedBatch& batch, int first, int count, float* out, const LogitsWatch& watch) {
  for (int i = 0; i < count; ++i) {
    rmsNorm(&m_x[at(batch.logitRows[first + i]) * m_hidden], m_weights.outputNorm, m_spec.normEps,
            &m_normed[at(i) * m_hidden]);
  }
  const std::size_t vocab = at(m_spec.vocabSize);
  if (!linear(batch, count, m_weights.output, m_normed.data(), out, vocab)) {
    return cancelledUnless(false);
  }
  if (m_spec.finalSoftCap != 0.0f) {
    for (std::size_t i = 0; i < at(count) * vocab; ++i)
      out[i] = softCap(out[i], m_spec.finalSoftCap);
  }
  for (int row = 0; watch && row < count; ++row) {
    for (std::size_t begin = 0; begin < vocab; begin += kLogitsRun) {
      const std::size_t count = std::min<std::size_t>(kLogitsRun, vocab - begin);
      watch(row, static_cast<int>(begin / kLogitsRun), out + at(row) * vocab + begin,
            static_cast<int>(count));
    }
  }
  return Status::ok();
}

void ReferenceOps::copyBlocks(std::span<const BlockCopy> copies) {
  for (const BlockCopy& copy : copies) {
    if (copy.from != copy.to) writeBlock(copy.to, m_kv.blockBytes(copy.from));
  }
}

void ReferenceOps::readBlock(std::int32_t block, std::byte* out) const {
  std::memcpy(out, m_kv.blockBytes(block), m_kv.layout().bytesPerBlock());
}

void ReferenceOps::writeBlock(std::int32_t block, const std::byte* in) {
  std::memcpy(m_kv.blockBytes(block), in, m_kv.layout().bytesPerBlock());
}

OpsCounters ReferenceOps::takeCounters() {
  const OpsCounters counters = m_counters;
  m_counters = {};
  return counters;
}

BackendResult createOps(const BackendRequest& request) {
  BackendResult result;
  result.status = checkRequest(request);
  if (!result.status.isOk()) return result;
  try {
    auto ops = std::make_unique<ReferenceOps>(request);
    if (!ops->isAllocated()) throw std::bad_alloc();
    result.ops = std::move(ops);
  } catch (const std::bad_alloc&) {
    result.status = Status::failed(Outcome::OutOfMemory,
                                   "no memory for a KV pool of " +
                                       std::to_string(request.layout.numBlocks) + " blocks of " +
                                       std::to_string(request.layout.bytesPerBlock()) + " bytes");
    return result;
  }
  if (request.progress) request.progress(1.0);
  return result;
}

}  // namespace kernels::reference
