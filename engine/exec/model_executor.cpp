#include "engine/exec/model_executor.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "kernels/cpu/cpu_topology.h"

namespace engine::exec {

namespace {

// Logits held at once; enough rows to read the output matrix rarely, few enough to stay small.
constexpr std::int64_t kLogitsBytes = 32 << 20;

bool isRaised(const std::atomic<bool>* flag) {
  return flag != nullptr && flag->load(std::memory_order_relaxed);
}

Error toError(const kernels::Status& status) {
  switch (status.outcome) {
    case kernels::Outcome::Cancelled:
      return {ErrorCode::Cancelled, "the step was cancelled"};
    case kernels::Outcome::Unsupported:
      return {ErrorCode::Unsupported, status.message};
    case kernels::Outcome::OutOfMemory:
      return {ErrorCode::OutOfMemory, status.message};
    case kernels::Outcome::DeviceFailed:
      return {ErrorCode::DeviceFailed, status.message};
    case kernels::Outcome::Ok:
      break;
  }
  return {ErrorCode::Internal, status.message};
}

// A width that no fast recipe packs falls to the reference, unless a recipe was asked for by name;
// `note` then says so.
kernels::BackendResult createBackend(const kernels::BackendRequest& request,
                                     const BackendChoice& choice,
                                     std::string& note) {
  if (!choice.cpuIsa) return kernels::reference::createOps(request);
  kernels::BackendResult fast = kernels::cpu::createOps(request, *choice.cpuIsa);
  if (choice.isAsked || fast.status.outcome != kernels::Outcome::Unsupported) return fast;
  kernels::BackendResult plain = kernels::reference::createOps(request);
  if (!plain.status.isOk()) return fast;
  note = fast.status.message + ", so the plain float32 recipe runs, which is slow";
  return plain;
}

}  // namespace

// Returns a Status that is not Ok from the calling function.
#define RETURN_UNLESS_OK(expression)                                             \
  do {                                                                           \
    if (kernels::Status status_ = (expression); !status_.isOk()) return status_; \
  } while (false)

Result<std::unique_ptr<ModelExecutor>> ModelExecutor::create(
    std::shared_ptr<const model::WeightSource> source,
    const model::ModelConfig& config,
    const ModelExecutorOptions& options) {
  const kernels::DecoderWeights weights = TRY(source->weights(config));
  source->releasePages();  // around the small ones, which were copied
  kernels::BackendRequest request;
  request.spec = &config.decoder;
  request.weights = &weights;
  request.layout = {options.kvType,         config.decoder.numLayers, config.decoder.numKvHeads,
                    config.decoder.headDim, options.blockSize,        options.numBlocks};
  request.maxBatchedTokens = options.maxBatchedTokens;
  request.threads =
      options.threads > 0 ? options.threads : kernels::cpu::readCpuTopology().usefulThreads();
  request.packedFolder = options.packedFolder;
  request.progress = options.progress;
  request.cancel = options.cancel;
  request.release = [&source](std::span<const std::byte> bytes) { source->releasePages(bytes); };
  request.mayKeep = [&source] { return source->change().isNone(); };
  std::string note = options.backend.note;
  kernels::BackendResult backend = createBackend(request, options.backend, note);
  if (!backend.status.isOk()) return toError(backend.status);
  auto executor =
      std::make_unique<ModelExecutor>(std::move(source), std::move(backend.ops),
                                      config.decoder.vocabSize, options.maxBatchedTokens);
  executor->m_note = std::move(note);
  return executor;
}

ModelExecutor::ModelExecutor(std::shared_ptr<const model::WeightSource> source,
                             std::unique_ptr<kernels::Ops> ops,
                             std::int64_t vocabSize,
                             int maxBatchedTokens)
    : m_source(std::move(source)),
      m_ops(std::move(ops)),
      m_vocabSize(vocabSize),
      m_maxBatchedTokens(maxBatchedTokens) {}

int ModelExecutor::maxLogitRows() const {
  const std::int64_t rowBytes = m_vocabSize * std::int64_t{sizeof(float)};
  return static_cast<int>(std::max<std::int64_t>(1, kLogitsBytes / rowBytes));
}

kernels::BackendInfo ModelExecutor::info() const {
  kernels::BackendInfo info = m_ops->info();
  if (!m_note.empty()) info.note = info.note.empty() ? m_note : m_note + "; " + info.note;
  return info;
}

Result<void> ModelExecutor::execute(std::span<const SequenceRows> sequences,
                                    const std::atomic<bool>* cancel,
                                    const LogitsSink& sink) {
  int firstRow = 0;
  for (const auto& part : splitIntoBatches(sequences, m_maxBatchedTokens)) {
    m_batch.pack(part, layout().blockSize);
    const kernels::RaggedBatch batch = m_batch.view(cancel);
    if (const kernels::Status status = forward(batch); !status.isOk()) return toError(status);
    if (batch.numLogitRows == 0) TRY_VOID(checkSource());
    TRY_VOID(emitLogits(batch, firstRow, sink));
    firstRow += batch.numLogitRows;
  }
  return {};
}

kernels::Status ModelExecutor::forward(const kernels::RaggedBatch& batch) {
  const int numLayers = layout().numLayers;
  RETURN_UNLESS_OK(m_ops->embed(batch));
  for (int layer = 0; layer < numLayers; ++layer) {
    if (isRaised(batch.cancel)) return kernels::Status::failed(kernels::Outcome::Cancelled, "");
    RETURN_UNLESS_OK(m_ops->qkv(layer, batch));
    // nothing reads the last layer's result when no logits are wanted
    if (layer + 1 == numLayers && batch.numLogitRows == 0) break;
    RETURN_UNLESS_OK(m_ops->attend(layer, batch));
    RETURN_UNLESS_OK(m_ops->project(layer, batch));
    RETURN_UNLESS_OK(m_ops->mlp(layer, batch));
  }
  return kernels::Status::ok();
}

#undef RETURN_UNLESS_OK

// The embedding, and all weights where none are packed, are read from the file in every step.
Result<void> ModelExecutor::checkSource() {
  if (!m_source) return {};
  const model::FileChange change = m_source->change();
  if (change.isNone()) return {};
  constexpr std::string_view kWhen = "while it was in use";
  if (change.kind == model::ChangeKind::CutShort) {
    return change.error(std::string(kWhen) + "; the model must be loaded again");
  }
  if (!m_hasWarned) m_warning = change.error(kWhen).message;
  m_hasWarned = true;
  return {};
}

Result<void> ModelExecutor::emitLogits(const kernels::RaggedBatch& batch,
                                       int firstRow,
                                       const LogitsSink& sink) {
  for (int first = 0; first < batch.numLogitRows; first += maxLogitRows()) {
    const int count = std::min(maxLogitRows(), batch.numLogitRows - first);
    const std::size_t needed =
        static_cast<std::size_t>(count) * static_cast<std::size_t>(m_vocabSize);
    if (m_logits.size() < needed) m_logits.resize(needed);
    const kernels::Status status =
        m_ops->logits(batch, first, count, m_logits.data(), sink.runs);
    if (!status.isOk()) return toError(status);
    TRY_VOID(checkSource());
    sink(firstRow + first, count, m_logits.data());
  }
  return {};
}

}  // namespace engine::exec
