#include "kernels/cpu/packed_decoder.h"

#include <algorithm>
#include <span>
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

// Room for all matrices one after the other, and for a float a tile where weights are kept.
Status PackedDecoder::reserve(bool withUnits) {
  std::vector<std::size_t> offsets;
  std::size_t numTiles = 0;
  m_tileBytes = 0;
  for (const PackedMatrix* matrix : matrices()) {
    offsets.push_back(m_tileBytes);
    m_tileBytes += HugeArena::rounded(matrix->packedBytes());
    numTiles += static_cast<std::size_t>(matrix->numTiles());
  }
  const std::size_t total = m_tileBytes + (withUnits ? numTiles * sizeof(float) : 0);
  if (!m_arena.reserve(HugeArena::rounded(total))) {
    return Status::failed(Outcome::OutOfMemory,
                          "no memory for " + std::to_string(total) + " bytes of packed weights");
  }
  std::byte* memory = m_arena.allocate(total);
  m_payload = {memory, total};
  m_places.clear();
  for (const std::size_t offset : offsets) m_places.push_back(memory + offset);
  return Status::ok();
}

Status PackedDecoder::packAll(ThreadPool& pool, const LoadWatch& watch) {
  std::size_t done = 0, index = 0;
  for (PackedMatrix* matrix : matrices()) {
    const Status status = matrix->pack(m_places[index++], pool, watch);
    if (!status.isOk()) return status;
    done += matrix->packedBytes();
    watch.tell(static_cast<double>(done) / static_cast<double>(m_tileBytes));
  }
  return Status::ok();
}

// Looks for the weights among those kept, and takes them from there.
PackedRead PackedDecoder::readKept(CodeOrder order, ThreadPool& pool, const LoadWatch& watch) {
  const std::vector<PackedMatrix*> all = matrices();
  std::vector<WeightView> sources;
  std::vector<std::size_t> ends;
  for (const PackedMatrix* matrix : all) {
    sources.insert(sources.end(), matrix->sources().begin(), matrix->sources().end());
    ends.push_back((ends.empty() ? 0 : ends.back()) + HugeArena::rounded(matrix->packedBytes()));
  }
  const PackedRead outcome = m_cache->read(sources, order, m_payload, ends, pool, watch);
  if (outcome != PackedRead::Read) return outcome;
  const auto* units = reinterpret_cast<const float*>(m_payload.data() + m_tileBytes);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto numTiles = static_cast<std::size_t>(all[i]->numTiles());
    all[i]->adopt(m_places[i], {units, numTiles});
    units += numTiles;
  }
  return outcome;
}

void PackedDecoder::keep() {
  auto* units = reinterpret_cast<float*>(m_payload.data() + m_tileBytes);
  for (const PackedMatrix* matrix : matrices()) {
    units = std::copy_n(matrix->sumUnits(0), matrix->numTiles(), units);
  }
  m_cache->keep(m_payload);
}

Status PackedDecoder::pack(const BackendRequest& request, CodeOrder order, ThreadPool& pool) {
  const bool isKept = !request.packedFolder.empty();
  Status status = plan(request, order);
  if (status.isOk()) status = reserve(isKept);
  if (!status.isOk()) return status;
  std::vector<DType> types;
  for (const PackedMatrix* matrix : matrices()) {
    for (const PackedMatrix::Part& part : matrix->parts()) types.push_back(part.type);
  }
  m_slowFormats = slowFormatsNote(types, order);
  const LoadWatch watch{request.cancel, request.progress, request.release};
  // what is too large for any folder is not even hashed
  if (!isKept || m_payload.size() + kPackedHeaderBytes > PackedFolder::kMaxBytes) {
    return packAll(pool, watch);
  }
  m_cache = std::make_unique<PackedCache>(PackedFolder(request.packedFolder));
  const PackedRead found = readKept(order, pool, watch);
  m_wasRead = found == PackedRead::Read;
  if (m_wasRead) return Status::ok();
  if (found == PackedRead::Cancelled) {
    return Status::failed(Outcome::Cancelled, "reading packed weights was cancelled");
  }
  status = packAll(pool, watch.part(PackedCache::kHashShare, 1.0));
  if (status.isOk() && (!request.mayKeep || request.mayKeep())) keep();
  return status;
}

std::string PackedDecoder::note() const {
  const std::string unkept = m_cache ? m_cache->note() : std::string();
  if (m_slowFormats.empty() || unkept.empty()) return m_slowFormats + unkept;
  return m_slowFormats + "; " + unkept;
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
