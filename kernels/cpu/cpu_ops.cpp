#include "kernels/cpu/cpu_ops.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <system_error>

#include "kernels/core/kv_codec.h"
#include "kernels/core/request_check.h"
#include "kernels/core/rope_angles.h"
#include "kernels/core/unpack.h"
#include "kernels/cpu/cpu_topology.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/stopwatch.h"

namespace kernels::cpu {

namespace {

// Rows together this wide are not worth an item; and, as a job of their own, this wide.
constexpr int kLeastFloats = 512, kSerialFloats = 16384;

enum QkvPart { kQueries = 0, kKeys = 1, kValues = 2 };

bool isVnni512(Isa isa) {
  return isa != Isa::Avx2 && isa != Isa::AvxVnni;
}

const AttentionKernels& attentionOf(Isa isa) {
  if (isa == Isa::Amx || isa == Isa::AmxBf16) return kAmxAttention;
  if (!isVnni512(isa)) return kAvx2Attention;
  return hasFastPairDots() ? kAvx512Bf16Attention : kAvx512VnniAttention;
}

bool isCancelled(const RaggedBatch& batch) {
  return batch.cancel && batch.cancel->load(std::memory_order_relaxed);
}

Status statusOf(const RaggedBatch& batch) {
  if (!isCancelled(batch)) return Status::ok();
  return Status::failed(Outcome::Cancelled, "the step was cancelled");
}

double opsOf(const PackedMatrix& matrix, int numRows) {
  return 2.0 * numRows * matrix.numColumns() * matrix.numInputs();
}

}  // namespace

CpuOps::CpuOps(const BackendRequest& request, Isa isa)
    : m_spec(*request.spec),
      m_isa(isa),
      m_matmul(isa),
      m_rows(isVnni512(isa) ? kAvx512VnniRowKernels : kAvx2RowKernels),
      m_attention(attentionOf(isa)),
      m_pool(request.threads, cpusOfThreads(readNumaNodes(), request.threads)),
      m_output(m_matmul, m_rows, m_pool),
      m_maxBatchedTokens(request.maxBatchedTokens) {}

Status CpuOps::load(const BackendRequest& request) {
  Status status = m_kv.reserve(request.layout);
  if (status.isOk()) status = m_weights.pack(request, m_matmul.codeOrder(), m_pool);
  m_pool.takeTimes();  // packing is no step
  if (!status.isOk()) return status;
  const KeepFloats keep = m_weights.needsFloats() ? KeepFloats::Yes : KeepFloats::No;
  return m_act.reserve(m_spec, m_maxBatchedTokens, m_pool.numThreads(), keep, m_matmul.rowForm());
}

BackendInfo CpuOps::info() const {
  BackendInfo info;
  info.device = "CPU";
  info.isa = isaName(m_isa);
  info.note = m_weights.note();
  info.threads = m_pool.numThreads();
  info.weightBytes = m_weights.bytes();
  const KvLayout& layout = m_kv.layout();
  info.kvBytes = static_cast<std::size_t>(layout.numBlocks) * layout.bytesPerBlock();
  info.scratchBytes = m_act.bytes();
  return info;
}

CpuOps::RowCut CpuOps::cutRows(int numRows, int width) const {
  const int least = std::max(kLeastFloats / std::max(width, 1), 1);
  return {numRows, std::max(m_pool.pieceSize(numRows, 1), least)};
}

// fn(row, thread) for each row: by the caller when there is little to do.
template <typename Fn>
void CpuOps::forRows(int numRows, int width, const Fn& fn) {
  if (static_cast<std::int64_t>(numRows) * width <= kSerialFloats) {
    for (int row = 0; row < numRows; ++row) fn(row, 0);
    return;
  }
  m_pool.runRanges(numRows, 1, [&](int begin, int end, int thread) {
    for (int row = begin; row < end; ++row) fn(row, thread);
  });
}

Status CpuOps::embed(const RaggedBatch& batch) {
  Status status = checkBatch(batch, m_kv.layout(), m_spec.vocabSize, m_maxBatchedTokens);
  if (!status.isOk()) return status;
  const WeightView& table = m_weights.embedding();
  const std::size_t stride = rowBytes(table.type, table.cols);
  forRows(batch.numTokens, m_spec.hidden, [&](int row, int) {
    float* x = m_act.x(row);
    const auto token = static_cast<std::size_t>(batch.tokens[row]);
    unpackRow(table.type, table.data + token * stride, table.cols, x);
    if (m_spec.embedScale != 1.0f) m_rows.scale(x, m_spec.embedScale, m_spec.hidden);
    for (std::size_t rope = 0; rope < m_spec.ropes.size(); ++rope) {
      const int index = static_cast<int>(rope);
      ropeAngles(m_spec.ropes[rope], batch.positions[row], m_act.cosines(index, row),
                 m_act.sines(index, row));
    }
  });
  m_hasUpdate = false;
  return statusOf(batch);
}

// x += update of the row, through its norm.
void CpuOps::addUpdate(int row, int thread) {
  if (!m_hasUpdate) return;
  const float* update = m_act.update(row);
  if (!m_updateNorm->empty()) {
    float* normed = m_act.rowScratch(thread);
    m_rows.rmsNorm(update, m_updateNorm->data(), m_spec.hidden, m_spec.normEps, normed);
    update = normed;
  }
  m_rows.add(m_act.x(row), update, m_spec.hidden);
}

// Norm of x, quantised as input row `row`; what its rounding left over as row `rest`, if not none.
void CpuOps::normInto(
    const float* x, const std::vector<float>& weight, InputPlace place, int thread) {
  float* normed = m_act.rowScratch(thread);
  QuantizedRows& inputs = m_act.inputs();
  m_rows.rmsNorm(x, weight.data(), m_spec.hidden, m_spec.normEps, normed);
  m_matmul.quantizeRow(normed, inputs, place.row);
  if (place.rest < 0) return;
  m_rows.remainder(normed, inputs.row(place.row), inputs.numGroups(), normed);
  m_matmul.quantizeRow(normed, inputs, place.rest);
}

// Norm of the residual stream as an input row, the last update added before.
void CpuOps::prepareInput(
    int row, const std::vector<float>& norm, Precision precision, int thread) {
  addUpdate(row, thread);
  const bool isPaired = heldRows(precision) == 2;
  normInto(m_act.x(row), norm, isPaired ? InputPlace{2 * row, 2 * row + 1} : InputPlace{row}, thread);
}

// columns [rows, width] of fine input rows, all tiles in one part; `columns` holds twice that.
void CpuOps::multiplyFine(const PackedMatrix& matrix,
                          const MatmulRange& range,
                          int width,
                          float* columns) {
  if (heldRows(Precision::Fine) == 1) {
    return m_matmul.multiplyTiles(matrix, m_act.inputs(), range, columns, width);
  }
  MatmulRange pairs = range;
  pairs.rowBegin *= 2;
  pairs.rowEnd *= 2;
  m_matmul.multiplyTiles(matrix, m_act.inputs(), pairs, columns, width);
  // Plain weights are multiplied with the f32 rows themselves: nothing is left to add.
  const bool isPlain = isPlainFloat(matrix.partOfTile(range.tileBegin).layout);
  for (std::ptrdiff_t row = 0; row < range.rowEnd - range.rowBegin; ++row) {
    float* pair = columns + 2 * row * width;
    if (!isPlain) m_rows.add(pair, pair + width, width);
    if (row > 0) std::memcpy(columns + row * width, pair, static_cast<std::size_t>(width) * 4);
  }
}

Status CpuOps::qkv(int layer, const RaggedBatch& batch) {
  if (batch.numTokens == 0) return Status::ok();
  const PackedLayer& weights = m_weights.layer(layer);
  m_act.inputs().setShape(heldRows(Precision::Fine) * batch.numTokens, m_spec.hidden);
  const RowCut rows = cutRows(batch.numTokens, m_spec.hidden);
  const auto prepare = [&](int item, int thread) {
    for (int row = rows.begin(item); row < rows.end(item); ++row) {
      prepareInput(row, weights.attnNorm, Precision::Fine, thread);
    }
  };
  // in units of heads that fill whole tiles
  const int unitTiles = headsPerUnit(m_spec.headDim) * m_spec.headDim / kTileColumns;
  const int numUnits = std::max(1, weights.qkv.numTiles() / unitTiles);
  const int fits = static_cast<int>(m_act.epilogueFloats()) / (2 * unitTiles * kTileColumns);
  ProductCut cuts[3];
  int numItems = 0;
  for (int part = 0; part < 3; ++part) {
    const int numTiles = weights.qkv.parts()[static_cast<std::size_t>(part)].numTiles;
    cuts[part] = cutUnits(m_pool.numThreads(), batch.numTokens, numTiles, unitTiles, numUnits,
                          m_matmul.leastRowsPerItem(), fits);
    numItems += cuts[part].numItems();
  }
  const auto multiply = [&](int item, int thread) {
    if (isCancelled(batch)) return;
    int part = 0;
    for (; item >= cuts[part].numItems(); ++part) item -= cuts[part].numItems();
    runQkvPart(layer, batch, part, item, cuts[part], thread);
  };
  m_counters.linearOps += opsOf(weights.qkv, batch.numTokens);
  m_pool.run({{rows.numItems(), prepare}, {numItems, multiply, &m_counters.linearNs}});
  m_hasUpdate = false;
  return statusOf(batch);
}

// One unit of heads of q, k or v for some rows: product, then everything up to query or cache.
void CpuOps::runQkvPart(int layer,
                        const RaggedBatch& batch,
                        int partIndex,
                        int item,
                        const ProductCut& cut,
                        int thread) {
  const PackedMatrix& matrix = m_weights.layer(layer).qkv;
  const PackedMatrix::Part& part = matrix.parts()[static_cast<std::size_t>(partIndex)];
  MatmulRange range = cut.range(item);
  range.tileBegin += part.firstTile;
  range.tileEnd += part.firstTile;
  const int firstHead = item / cut.numRowBlocks() * headsPerUnit(m_spec.headDim);
  const int numHeads =
      std::min(headsPerUnit(m_spec.headDim), part.numColumns / m_spec.headDim - firstHead);
  const std::ptrdiff_t width = static_cast<std::ptrdiff_t>(numHeads) * m_spec.headDim;
  float* columns = m_act.epilogue(thread);
  multiplyFine(matrix, range, static_cast<int>(width), columns);
  for (int row = range.rowBegin; row < range.rowEnd; ++row, columns += width) {
    finishHeads(batch, {layer, partIndex, firstHead, row, thread}, numHeads, columns);
  }
}

void CpuOps::finishHeads(const RaggedBatch& batch, HeadPlace place, int numHeads, float* columns) {
  const PackedLayer& weights = m_weights.layer(place.layer);
  const std::vector<float>* biases[] = {&weights.qBias, &weights.kBias, &weights.vBias};
  const std::vector<float>* norms[] = {&weights.qNorm, &weights.kNorm, nullptr};
  const std::vector<float>& bias = *biases[place.part];
  const std::vector<float>* norm = norms[place.part];
  HeadJob job;
  job.eps = m_spec.normEps;
  job.headDim = m_spec.headDim;
  if (norm && !norm->empty()) job.normWeight = norm->data();
  if (place.part != kValues) {
    const int rope = m_spec.layers[static_cast<std::size_t>(place.layer)].rope;
    const RopeSpec& spec = m_spec.ropes[static_cast<std::size_t>(rope)];
    job.cosines = m_act.cosines(rope, place.row);
    job.sines = m_act.sines(rope, place.row);
    job.numPairs = static_cast<int>(spec.inverseFrequencies.size());
    job.isInterleaved = spec.pairing == RopePairing::Interleaved;
  }
  for (int i = 0; i < numHeads; ++i, ++place.head, columns += m_spec.headDim) {
    if (!bias.empty()) {
      job.bias = bias.data() + static_cast<std::ptrdiff_t>(place.head) * m_spec.headDim;
    }
    m_rows.finishHead(job, columns);
    if (place.part == kKeys) shapeKey(weights.keyForm, place.head, m_spec.headDim, columns);
    if (place.part == kQueries) {
      const int kvHead = place.head / (m_spec.numHeads / m_spec.numKvHeads);
      shapeQuery(weights.keyForm, kvHead, m_spec.headDim, columns);
    }
    storeHead(batch, place, columns);
  }
}

void CpuOps::storeHead(const RaggedBatch& batch, const HeadPlace& place, float* values) {
  const auto dim = static_cast<std::size_t>(m_spec.headDim);
  const KvLayout& layout = m_kv.layout();
  if (isTurnedKv(layout.type)) m_rows.turnHead(values, m_spec.headDim, Turn::Forth);
  if (place.part == kQueries) {
    std::memcpy(m_act.query(place.row) + static_cast<std::size_t>(place.head) * dim, values,
                dim * 4);
    return;
  }
  const std::int64_t position = batch.positions[place.row];
  const std::int64_t slot =
      static_cast<std::int64_t>(batch.sequences[place.row]) * batch.maxBlocks +
      layout.blockOf(position);
  const void* elements = toElements(values, m_act.elementScratch(place.thread));
  const std::int32_t block = batch.blockTable[slot];
  const int offset = layout.offsetOf(position);
  if (place.part == kKeys) {
    m_kv.storeKey(place.layer, place.head, block, offset, elements);
  } else {
    m_kv.storeValue(place.layer, place.head, block, offset, elements);
  }
}

// A head's vector in the cache's type; `values` itself when that is f32.
const void* CpuOps::toElements(const float* values, std::byte* scratch) const {
  const KvType type = m_kv.layout().type;
  if (type == KvType::F32) return values;
  if (isQuantizedKv(type)) {
    m_rows.encodeKv(type, values, m_spec.headDim, scratch);
  } else {
    const auto convert = type == KvType::F16 ? m_rows.toF16 : m_rows.toBf16;
    convert(values, m_spec.headDim, reinterpret_cast<std::uint16_t*>(scratch));
  }
  return scratch;
}

Status CpuOps::attend(int layer, const RaggedBatch& batch) {
  if (batch.numTokens == 0) return Status::ok();
  const Stopwatch watch(m_counters.attentionNs);
  AttentionShape shape;
  shape.numHeads = m_spec.numHeads;
  shape.numKvHeads = m_spec.numKvHeads;
  shape.headDim = m_spec.headDim;
  shape.window = m_spec.layers[static_cast<std::size_t>(layer)].window;
  shape.scale = m_spec.attentionScale;
  shape.softCap = m_spec.attentionSoftCap;
  shape.numThreads = m_pool.numThreads();
  m_plan.build(batch, shape, m_kv, layer, m_act.query(0), m_act.attended(0));
  const std::vector<AttentionItem>& items = m_plan.items();
  const std::vector<AttentionMerge>& merges = m_plan.merges();
  const auto attendItem = [&](int item, int thread) {
    if (isCancelled(batch)) return;
    m_attention.attend(items[static_cast<std::size_t>(item)], m_act.attentionScratch(thread));
  };
  const auto mergeItem = [&](int merge, int thread) {
    if (isCancelled(batch)) return;
    m_attention.merge(merges[static_cast<std::size_t>(merge)], m_act.attentionScratch(thread));
  };
  m_pool.run({{static_cast<int>(items.size()), attendItem},
              {static_cast<int>(merges.size()), mergeItem}});
  return statusOf(batch);
}

ProductCut CpuOps::cutUpdate(const PackedMatrix& matrix, int numRows) const {
  constexpr int kMaxRows = 512;
  return cutProduct(m_pool.numThreads(), numRows, matrix.numTiles(), matrix.numInputs(), kMaxRows);
}

// update = rows * matrix
void CpuOps::multiplyInto(const PackedMatrix& matrix,
                          const QuantizedRows& rows,
                          const MatmulRange& range) {
  float* columns = m_act.update(range.rowBegin) + matrix.firstColumnOfTile(range.tileBegin);
  m_matmul.multiplyTiles(matrix, rows, range, columns, m_spec.hidden);
}

// What attention gave as an input row.
void CpuOps::quantizeAttended(int row) {
  float* heads = m_act.attended(row);
  if (isTurnedKv(m_kv.layout().type)) {  // so are the values it is a mean of
    for (int head = 0; head < m_spec.numHeads; ++head) {
      m_rows.turnHead(heads + std::ptrdiff_t{head} * m_spec.headDim, m_spec.headDim, Turn::Back);
    }
  }
  m_matmul.quantizeRow(heads, m_act.inputs(), row);
}

Status CpuOps::project(int layer, const RaggedBatch& batch) {
  if (batch.numTokens == 0) return Status::ok();
  const PackedLayer& weights = m_weights.layer(layer);
  const int width = m_spec.numHeads * m_spec.headDim;
  m_act.inputs().setShape(batch.numTokens, width);
  const RowCut rows = cutRows(batch.numTokens, width);
  const auto quantize = [&](int item, int) {
    for (int row = rows.begin(item); row < rows.end(item); ++row) quantizeAttended(row);
  };
  const ProductCut cut = cutUpdate(weights.attnOut, batch.numTokens);
  const auto multiply = [&](int item, int) {
    if (!isCancelled(batch)) multiplyInto(weights.attnOut, m_act.inputs(), cut.range(item));
  };
  m_counters.linearOps += opsOf(weights.attnOut, batch.numTokens);
  m_pool.run({{rows.numItems(), quantize}, {cut.numItems(), multiply, &m_counters.linearNs}});
  m_hasUpdate = true;
  m_updateNorm = &weights.postAttnNorm;
  return statusOf(batch);
}

Status CpuOps::mlp(int layer, const RaggedBatch& batch) {
  if (batch.numTokens == 0) return Status::ok();
  const PackedLayer& weights = m_weights.layer(layer);
  m_act.inputs().setShape(batch.numTokens, m_spec.hidden);
  m_act.gated().setShape(batch.numTokens, m_spec.ffn);
  const RowCut rows = cutRows(batch.numTokens, m_spec.hidden);
  const auto prepare = [&](int item, int thread) {
    for (int row = rows.begin(item); row < rows.end(item); ++row) {
      prepareInput(row, weights.ffnNorm, Precision::Coarse, thread);
    }
  };
  constexpr int kMaxRows = kEpilogueFloats / (2 * kTileColumns);  // a tile of both fits
  const ProductCut gateUp = cutProduct(m_pool.numThreads(), batch.numTokens,
                                       weights.gateUp.parts()[0].numTiles, 2 * m_spec.hidden, kMaxRows);
  const auto multiplyGateUp = [&](int item, int thread) {
    if (!isCancelled(batch)) runGateUp(weights, gateUp.range(item), thread);
  };
  const ProductCut down = cutUpdate(weights.down, batch.numTokens);
  const auto multiplyDown = [&](int item, int) {
    if (!isCancelled(batch)) multiplyInto(weights.down, m_act.gated(), down.range(item));
  };
  m_counters.linearOps +=
      opsOf(weights.gateUp, batch.numTokens) + opsOf(weights.down, batch.numTokens);
  m_pool.run({{rows.numItems(), prepare},
              {gateUp.numItems(), multiplyGateUp, &m_counters.linearNs},
              {down.numItems(), multiplyDown, &m_counters.linearNs}});
  m_hasUpdate = true;
  m_updateNorm = &weights.postFfnNorm;
  return statusOf(batch);
}

// Gate and up of the same columns, their activation, quantised at once: a tile is one group.
void CpuOps::runGateUp(const PackedLayer& layer, const MatmulRange& range, int thread) {
  const PackedMatrix& matrix = layer.gateUp;
  const int numRows = range.rowEnd - range.rowBegin, upTile = matrix.parts()[1].firstTile;
  const int tilesAtOnce = std::max(1, kEpilogueFloats / (2 * kTileColumns * numRows));
  const auto activate =
      m_spec.activation == Activation::SiluGate ? m_rows.siluGate : m_rows.geluGate;
  for (int tile = range.tileBegin; tile < range.tileEnd; tile += tilesAtOnce) {
    const int count = std::min(tilesAtOnce, range.tileEnd - tile), width = count * kTileColumns;
    float* gate = m_act.epilogue(thread);
    float* up = gate + static_cast<std::ptrdiff_t>(numRows) * width;
    MatmulRange part = range;
    part.tileBegin = tile;
    part.tileEnd = tile + count;
    m_matmul.multiplyTiles(matrix, m_act.inputs(), part, gate, width);
    part.tileBegin += upTile;
    part.tileEnd += upTile;
    m_matmul.multiplyTiles(matrix, m_act.inputs(), part, up, width);
    for (int row = range.rowBegin; row < range.rowEnd; ++row, gate += width, up += width) {
      activate(gate, up, width, gate);
      m_matmul.quantizeGroups(gate, m_act.gated(), row, tile, count);
    }
  }
}

Status CpuOps::logits(
    const RaggedBatch& batch, int first, int count, float* out, const LogitsWatch& watch) {
  if (count == 0) return Status::ok();
  forRows(batch.numTokens, m_spec.hidden, [&](int row, int thread) { addUpdate(row, thread); });
  m_hasUpdate = false;
  const bool hasRemainders = heldRows(Precision::Fine) == 2;
  m_act.inputs().setShape(heldRows(Precision::Fine) * count, m_spec.hidden);
  forRows(count, m_spec.hidden, [&](int i, int thread) {
    normInto(m_act.x(batch.logitRows[first + i]), m_weights.outputNorm(),
             {i, hasRemainders ? count + i : -1}, thread);
  });
  const Stopwatch stopwatch(m_counters.linearNs);
  m_counters.linearOps += opsOf(m_weights.output(), count);
  m_output.run({&m_weights.output(), &m_act.inputs(), count, hasRemainders, m_spec.finalSoftCap, out,
                &watch, batch.cancel});
  return statusOf(batch);
}

void CpuOps::copyBlocks(std::span<const BlockCopy> copies) {
  for (const BlockCopy& copy : copies) {
    if (copy.from != copy.to) writeBlock(copy.to, m_kv.blockBytes(copy.from));
  }
}

void CpuOps::readBlock(std::int32_t block, std::byte* out) const {
  std::memcpy(out, m_kv.blockBytes(block), m_kv.layout().bytesPerBlock());
}

void CpuOps::writeBlock(std::int32_t block, const std::byte* in) {
  std::memcpy(m_kv.blockBytes(block), in, m_kv.layout().bytesPerBlock());
}

OpsCounters CpuOps::takeCounters() {
  OpsCounters counters = m_counters;
  m_counters = {};
  const PoolTimes times = m_pool.takeTimes();
  counters.helpNs = static_cast<double>(times.helpNs);
  counters.waitNs = static_cast<double>(times.waitNs);
  return counters;
}

}  // namespace kernels::cpu
