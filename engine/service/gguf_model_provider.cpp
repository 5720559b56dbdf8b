#include "engine/service/gguf_model_provider.h"

#include <chrono>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "engine/api/kv_type.h"
#include "engine/exec/model_executor.h"
#include "engine/model/gguf_weight_source.h"
#include "engine/model/memory_estimate.h"
#include "engine/model/safe_text.h"
#include "engine/service/chat_renderer.h"
#include "engine/text/vocabulary_match.h"

namespace engine::service {

namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

constexpr std::int64_t kAssumedFreeBytes = std::int64_t{4} << 30;  // where the system does not tell

Result<std::int64_t> chooseContext(std::int64_t asked, std::int64_t trained) {
  if (asked == 0) return trained;
  if (asked <= trained) return asked;
  return Error{ErrorCode::InvalidArgument,
               fmt::format("max-context is {}; this model was trained for {}", asked, trained)};
}

Result<void> checkStopped(const std::atomic<bool>* cancel) {
  if (cancel == nullptr || !cancel->load(std::memory_order_relaxed)) return {};
  return Error{ErrorCode::Cancelled, "loading was stopped"};
}

std::int64_t freeBytesNow() {
  return model::freeMemoryBytes().value_or(kAssumedFreeBytes);
}

// The system would hand out any number of pages that nobody touches, and kill whoever does.
Result<void> checkPool(std::int64_t numBlocks, std::int64_t bytesPerBlock) {
  const std::int64_t pages = sysconf(_SC_PHYS_PAGES), pageBytes = sysconf(_SC_PAGE_SIZE);
  if (pages <= 0 || pageBytes <= 0 || numBlocks <= pages * pageBytes / bytesPerBlock) return {};
  return Error{ErrorCode::OutOfMemory,
               fmt::format("no memory for a KV pool of {} blocks of {} bytes: this machine has {} bytes",
                           numBlocks, bytesPerBlock, pages * pageBytes)};
}

// Everything that the file and the configuration say, checked.
struct Facts {
  std::shared_ptr<const model::WeightSource> source;
  model::ModelConfig config;
  std::shared_ptr<const text::Tokenizer> tokenizer;
  ChatRenderer chat;
  exec::BackendChoice backend;
  kernels::KvType kvType = kernels::KvType::BF16;
  std::int64_t maxContext = 0;
  SteadyTime startedAt;
  std::string packedFolder;
  // of the draft model; no source = there is none
  std::shared_ptr<const model::WeightSource> draftSource;
  model::ModelConfig draftConfig;
};

// What is read of a file is copied: else its pages would stay in memory beside the copies.
void releaseFiles(const Facts& facts) {
  facts.source->releasePages();
  if (facts.draftSource) facts.draftSource->releasePages();
}

// What was made of a file that changed meanwhile is made of neither content.
Result<void> checkFiles(const Facts& facts) {
  for (const model::WeightSource* source : {facts.source.get(), facts.draftSource.get()}) {
    if (source) TRY_VOID(source->change().check(model::kWhileRead));
  }
  return {};
}

class GgufOpenedModel final : public OpenedModel {
 public:
  explicit GgufOpenedModel(Facts facts) : m_facts(std::move(facts)) {}

  Result<LoadedModel> load(const EngineConfig& config, const LoadObserver& observer) override {
    auto loaded = loadAll(config, observer);
    if (!loaded && loaded.error().code == ErrorCode::Cancelled) return loaded;
    TRY_VOID(checkFiles(m_facts));  // what it tells explains any other failure
    return loaded;
  }

 private:
  Result<LoadedModel> loadAll(const EngineConfig& config, const LoadObserver& observer) {
    exec::ModelExecutorOptions options = TRY(optionsFor(config, observer));
    auto executor = exec::ModelExecutor::create(m_facts.source, m_facts.config, options);
    if (!executor) {
      TRY_VOID(checkStopped(observer.cancel));
      return executor.error();
    }
    LoadedModel loaded;
    loaded.executor = std::move(executor).value();
    if (m_facts.draftSource) {
      observer.progress("packing the draft model", 0.0, m_facts.draftSource->fileBytes());
      auto draft =
          exec::ModelExecutor::create(m_facts.draftSource, m_facts.draftConfig, options);
      if (!draft) {
        TRY_VOID(checkStopped(observer.cancel));
        return draft.error();
      }
      loaded.draft = std::move(draft).value();
      loaded.draftContext = m_facts.draftConfig.trainedContext;
    }
    loaded.tokenizer = m_facts.tokenizer;
    loaded.renderChat = m_facts.chat.render;
    loaded.info = describe(*loaded.executor, loaded.draft.get());
    loaded.shape = TRY(shapeOf(*loaded.executor));
    releaseFiles(m_facts);  // last, after all that reads them
    return loaded;
  }

  Result<exec::ModelExecutorOptions> optionsFor(const EngineConfig& config,
                                                const LoadObserver& observer) const {
    kernels::KvLayout layout = model::kvLayoutOf(m_facts.config.decoder, config.load);
    layout.type = m_facts.kvType;
    exec::ModelExecutorOptions options;
    options.backend = m_facts.backend;
    options.kvType = m_facts.kvType;
    options.blockSize = config.load.blockSize;
    auto bytesPerBlock = static_cast<std::int64_t>(layout.bytesPerBlock());
    if (m_facts.draftSource) {
      // both pools hold the same tokens, and together no more than was asked for
      kernels::KvLayout draft = model::kvLayoutOf(m_facts.draftConfig.decoder, config.load);
      draft.type = m_facts.kvType;
      bytesPerBlock += static_cast<std::int64_t>(draft.bytesPerBlock());
    }
    options.numBlocks =
        TRY(model::resolveKvBlocks(config.load, bytesPerBlock, freeBytesNow(),
                                   model::usefulBlocks(config, m_facts.maxContext)));
    TRY_VOID(checkPool(options.numBlocks, bytesPerBlock));
    options.maxBatchedTokens = model::backendRows(config.limits);
    options.threads = config.load.threads;
    options.packedFolder = m_facts.packedFolder;
    options.cancel = observer.cancel;
    options.progress = [&observer, bytes = m_facts.source->fileBytes()](double fraction) {
      observer.progress("packing", fraction, bytes);
    };
    return options;
  }

  Result<accounting::ModelShape> shapeOf(const exec::Executor& executor) const {
    const kernels::DecoderSpec& spec = m_facts.config.decoder;
    const kernels::DecoderWeights weights = TRY(m_facts.source->weights(m_facts.config));
    accounting::ModelShape shape;
    shape.numLayers = spec.numLayers;
    shape.hidden = spec.hidden;
    shape.numHeads = spec.numHeads;
    shape.numKvHeads = spec.numKvHeads;
    shape.headDim = spec.headDim;
    shape.ffn = spec.ffn;
    shape.vocabSize = spec.vocabSize;
    for (const kernels::LayerSpec& layer : spec.layers) shape.windows.push_back(layer.window);
    for (const kernels::LayerWeights& layer : weights.layers) {
      for (const kernels::WeightView* view :
           {&layer.q, &layer.k, &layer.v, &layer.attnOut, &layer.gate, &layer.up, &layer.down}) {
        shape.layerWeightBytes += static_cast<double>(view->bytes());
      }
    }
    shape.outputWeightBytes = static_cast<double>(weights.output.bytes());
    shape.embeddingRowBytes =
        static_cast<double>(weights.embedding.bytes()) / static_cast<double>(spec.vocabSize);
    const kernels::KvLayout& kv = executor.layout();
    shape.kvBytesPerTokenLayer =
        static_cast<double>(kv.valueBytesPerTokenLayer() + kv.scaleBytesPerTokenLayer());
    return shape;
  }

  std::shared_ptr<const ModelInfo> describe(const exec::Executor& executor,
                                            const exec::Executor* draft) const {
    const model::ModelConfig& config = m_facts.config;
    const kernels::BackendInfo backend = executor.info();
    auto info = std::make_shared<ModelInfo>();
    info->path = m_facts.source->path();
    info->name = model::titleOf(info->path);
    info->architecture = config.architecture;
    info->quantisation = config.quantisation;
    info->parameters = config.parameters;
    info->fileBytes = m_facts.source->fileBytes();
    info->trainedContext = config.trainedContext;
    info->maxContext = m_facts.maxContext;
    info->vocabSize = config.decoder.vocabSize;
    info->numLayers = config.decoder.numLayers;
    info->numHeads = config.decoder.numHeads;
    info->numKvHeads = config.decoder.numKvHeads;
    info->headDim = config.decoder.headDim;
    info->hasChatTemplate = m_facts.chat.hasTemplate;
    info->hasTools = m_facts.chat.readsTools;
    info->chatNote = m_facts.chat.note;
    info->backend = backend.device;
    info->isa = backend.isa;
    info->isaNote = backend.note;
    info->threads = backend.threads;
    info->kvDtype = kvDTypeOf(m_facts.kvType);
    info->weightBytes = static_cast<std::int64_t>(backend.weightBytes);
    info->kvBytes = static_cast<std::int64_t>(backend.kvBytes);
    info->scratchBytes = static_cast<std::int64_t>(backend.scratchBytes);
    if (draft != nullptr) {
      const kernels::BackendInfo own = draft->info();
      info->draftName = m_facts.draftConfig.name;
      info->draftWeightBytes = static_cast<std::int64_t>(own.weightBytes);
      info->draftKvBytes = static_cast<std::int64_t>(own.kvBytes);
    }
    info->kvBytesPerToken = static_cast<std::int64_t>(executor.layout().bytesPerToken());
    const std::chrono::duration<double, std::milli> took =
        std::chrono::steady_clock::now() - m_facts.startedAt;
    info->loadMs = took.count();
    return info;
  }

  Facts m_facts;
};

// Opens the draft model and compares what its tokens mean with the large one's.
Result<void> openDraft(const LoadConfig& load, const text::Vocabulary& vocabulary, Facts& facts) {
  if (load.draftModelPath.empty()) return {};
  std::shared_ptr<const model::WeightSource> source =
      TRY(model::GgufWeightSource::open(load.draftModelPath));
  facts.draftConfig = TRY(source->configFor(0));
  const text::Vocabulary own = TRY(source->vocabulary());
  if (const auto same = text::checkSameTokens(vocabulary, own); !same) {
    return model::fileError(same.error().code, load.draftModelPath, same.error().message);
  }
  facts.draftSource = source;
  return {};
}

}  // namespace

Result<std::unique_ptr<OpenedModel>> GgufModelProvider::open(const EngineConfig& config,
                                                             const LoadObserver& observer) {
  Facts facts;
  facts.startedAt = std::chrono::steady_clock::now();
  facts.packedFolder = m_packedFolder;
  observer.progress("reading", 0.0, 0);
  facts.backend = TRY(exec::chooseBackend(config.load.isa, std::getenv("TESSERA_ISA"),
                                          kernels::cpu::supportedIsas()));
  facts.kvType = exec::chooseKvType(config.load.kvDtype, facts.backend);
  facts.source = TRY(model::GgufWeightSource::open(config.load.modelPath));
  facts.config = TRY(facts.source->configFor(config.load.maxContext));
  facts.maxContext = TRY(chooseContext(config.load.maxContext, facts.config.trainedContext));
  TRY_VOID(checkStopped(observer.cancel));
  text::Vocabulary vocabulary = TRY(facts.source->vocabulary());
  TRY_VOID(openDraft(config.load, vocabulary, facts));
  observer.progress("reading", 0.5, facts.source->fileBytes());
  facts.chat = makeChatRenderer(vocabulary);
  auto tokenizer = text::createTokenizer(std::move(vocabulary));
  if (!tokenizer) {
    const Error& error = tokenizer.error();
    return model::fileError(error.code, config.load.modelPath, error.message);
  }
  facts.tokenizer = std::move(tokenizer).value();
  releaseFiles(facts);
  observer.progress("reading", 1.0, facts.source->fileBytes());
  TRY_VOID(checkStopped(observer.cancel));
  return std::unique_ptr<OpenedModel>(std::make_unique<GgufOpenedModel>(std::move(facts)));
}

// Live knobs may change after the load: the estimate takes them as they are by default.
Result<MemoryEstimate> GgufModelProvider::estimate(const LoadConfig& config) {
  const auto source = TRY(model::GgufWeightSource::open(config.modelPath));
  const EngineConfig whole{config, {}};
  if (config.draftModelPath.empty()) return model::estimateMemory(*source, whole, freeBytesNow());
  const auto draft = TRY(model::GgufWeightSource::open(config.draftModelPath));
  return model::estimateMemory(*source, whole, freeBytesNow(), draft.get());
}

}  // namespace engine::service
