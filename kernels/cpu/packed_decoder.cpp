#include "kernels/cpu/packed_decoder.h"

#include <string>
#include <utility>

namespace kernels::cpu {

namespace {

// Makes `out` of the sources, or says which matrix cannot be packed.
Status shapeMatrix(const std::string& name,
                   std::vector<WeightView> sources,
                   CodeOrder order,
                   PackedMatrix& out) {
  Status status = PackedMatrix::check(sources);
  if (!status.isOk()) {
    status.message = name + ": " + status.message;
    return status;
  }
  out = PackedMatrix(std::move(sources), order);
  return Status::ok();
}

Status shapeLayer(int index, const LayerWeights& from, CodeOrder order, PackedLayer& to) {
  const std::string name = "layer " + std::to_string(index);
  Status status;
  const auto shape = [&](const char* what, std::vector<WeightView> sources, PackedMatrix& out) {
    if (status.isOk()) status = shapeMatrix(name + what, std::move(sources), order, out);
  };
  shape(" attention input", {from.q, from.k, from.v}, to.qkv);
  shape(" attention output", {from.attnOut}, to.attnOut);
  shape(" gate and up", {from.gate, from.up}, to.gateUp);
  shape(" down", {from.down}, to.down);
  to.attnNorm = from.attnNorm;
  to.ffnNorm = from.ffnNorm;
  to.postAttnNorm = from.postAttnNorm;
  to.postFfnNorm = from.postFfnNorm;
  to.qNorm = from.qNorm;
  to.kNorm = from.kNorm;
  to.qBias = from.qBias;
  to.kBias = from.kBias;
  to.vBias = from.vBias;
  return status;
}

}  // namespace

std::vector<PackedMatrix*> PackedDecoder::matrices() {
  std::vector<PackedMatrix*> all;
  for (PackedLayer& layer : m_layers) {
    all.insert(all.end(), {&layer.qkv, &layer.attnOut, &layer.gateUp, &layer.down});
  }
  all.push_back(&m_output);
  return all;
}

Status PackedDecoder::plan(const BackendRequest& request, CodeOrder order) {
  const DecoderWeights& weights = *request.weights;
  m_embedding = weights.embedding;
  m_outputNorm = weights.outputNorm;
  m_layers.resize(weights.layers.size());
  for (std::size_t i = 0; i < m_layers.size(); ++i) {
    Status status = shapeLayer(static_cast<int>(i), weights.layers[i], order, m_layers[i]);
    if (!status.isOk()) return status;
    m_layers[i].keyForm =
        keyForm(*request.spec, static_cast<int>(i), weights.layers[i], request.layout.type);
  }
  return shapeMatrix("output", {weights.output}, order, m_output);
}

Status PackedDecoder::pack(const BackendRequest& request, CodeOrder order, ThreadPool& pool) {
  Status status = plan(request, order);
  if (!status.isOk()) return status;
  std::size_t total = 0, done = 0;
  for (const PackedMatrix* matrix : matrices()) total += HugeArena::rounded(matrix->packedBytes());
  if (!m_arena.reserve(total)) {
    return Status::failed(Outcome::OutOfMemory,
                          "no memory for " + std::to_string(total) + " bytes of packed weights");
  }
  std::vector<DType> types;
  for (PackedMatrix* matrix : matrices()) {
    for (const PackedMatrix::Part& part : matrix->parts()) types.push_back(part.type);
    status = matrix->pack(m_arena.allocate(matrix->packedBytes()), pool, request.cancel);
    if (!status.isOk()) return status;
    done += matrix->packedBytes();
    if (request.progress) request.progress(static_cast<double>(done) / static_cast<double>(total));
  }
  m_slowFormats = slowFormatsNote(types, order);
  return Status::ok();
}

bool PackedDecoder::needsFloats() const {
  if (m_output.needsFloats()) return true;
  for (const PackedLayer& layer : m_layers) {
    if (layer.qkv.needsFloats() || layer.attnOut.needsFloats() || layer.gateUp.needsFloats() ||
        layer.down.needsFloats()) {
      return true;
    }
  }
  return false;
}

}  // namespace kernels::cpu
