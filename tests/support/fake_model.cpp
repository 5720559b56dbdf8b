#include "tests/support/fake_model.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <thread>
#include <utility>

#include <nlohmann/json.hpp>

#include "engine/base/random.h"
#include "tests/support/small_vocabulary.h"

namespace test_support {

using namespace engine;
using namespace engine::service;

namespace {

bool isRaised(const std::atomic<bool>* flag) {
  return flag != nullptr && flag->load();
}

// False when the flag rose first.
bool sleepUnlessRaised(int milliseconds, const std::atomic<bool>* flag) {
  for (int i = 0; i < milliseconds; ++i) {
    if (isRaised(flag)) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return !isRaised(flag);
}

Result<text::OriginText> renderFakeChat(const ChatPrompt& prompt) {
  const auto document = nlohmann::ordered_json::parse(prompt.conversationJson, nullptr, false);
  text::OriginText result;
  for (const auto& message : document["messages"]) {
    result.push_back({message["role"].get<std::string>() + ":", text::Origin::Template});
    result.push_back({message["content"].get<std::string>(), text::Origin::User});
    result.push_back({"<end>", text::Origin::Template});
  }
  return result;
}

class FakeOpenedModel final : public OpenedModel {
 public:
  explicit FakeOpenedModel(std::shared_ptr<FakeControl> control) : m_control(std::move(control)) {}

  Result<LoadedModel> load(const EngineConfig& config, const LoadObserver& observer) override {
    ++m_control->loadsBegun;
    observer.progress("packing", 0.5, 1000);
    const bool isDone = sleepUnlessRaised(m_control->loadDelayMs, observer.cancel);
    ++m_control->loadsEnded;
    if (!isDone) return Error{ErrorCode::Cancelled, "loading was stopped"};
    const LoadConfig& load = config.load;
    if (load.modelPath.starts_with("broken")) {
      return Error{ErrorCode::CorruptFile, load.modelPath + " is broken in the middle"};
    }
    auto info = std::make_shared<ModelInfo>();
    info->path = load.modelPath;
    info->name = load.modelPath;
    info->vocabSize = kFakeVocabSize;
    info->maxContext = load.maxContext > 0 ? load.maxContext : 256;
    LoadedModel model;
    model.info = info;
    model.tokenizer = makeFakeTokenizer(load.modelPath.starts_with("bos"));
    model.renderChat = [control = m_control](const ChatPrompt& prompt) {
      while (control->holdsChats) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return renderFakeChat(prompt);
    };
    if (load.modelPath.starts_with("nochat")) {
      model.renderChat = [](const ChatPrompt&) -> Result<text::OriginText> {
        return Error{ErrorCode::Unsupported, "this model has no chat template"};
      };
    }
    model.executor = std::make_unique<FakeExecutor>(m_control, load.blockSize,
                                                    load.kvBlocks > 0 ? load.kvBlocks : 64);
    if (!load.draftModelPath.empty()) {
      const bool isFailing = load.draftModelPath == "failing";
      auto control = std::make_shared<FakeControl>();
      if (isFailing) control->stepsToFail = 1'000'000;
      model.draft = std::make_unique<FakeExecutor>(
          isFailing ? control : m_control, load.blockSize, load.kvBlocks > 0 ? load.kvBlocks : 64,
          load.draftModelPath == "same" ? 1 : 2);
      model.draftContext = info->maxContext;
    }
    model.shape.numLayers = model.shape.hidden = model.shape.numHeads = model.shape.numKvHeads =
        model.shape.headDim = model.shape.ffn = 1;
    model.shape.vocabSize = kFakeVocabSize;
    model.shape.layerWeightBytes = 1000;
    return model;
  }

 private:
  std::shared_ptr<FakeControl> m_control;
};

}  // namespace

std::shared_ptr<const text::Tokenizer> makeFakeTokenizer(bool addBos) {
  text::Vocabulary vocabulary = byteBpeVocabulary("gpt-2", {});
  vocabulary.eos = addToken(vocabulary, "<end>", text::TokenType::Control);
  addToken(vocabulary, "<poison>", text::TokenType::Control);
  vocabulary.addBos = addBos;
  vocabulary.bos = addBos ? 1 : -1;
  return std::shared_ptr<const text::Tokenizer>(
      text::createTokenizer(std::move(vocabulary)).value().release());
}

FakeExecutor::FakeExecutor(std::shared_ptr<FakeControl> control,
                           int blockSize,
                           std::int64_t numBlocks,
                           std::uint64_t salt)
    : m_control(std::move(control)),
      m_salt(salt),
      m_slots(static_cast<std::size_t>(numBlocks * blockSize), TokenId{-1}) {
  m_layout.type = kernels::KvType::F32;
  m_layout.numLayers = m_layout.numKvHeads = m_layout.headDim = 1;
  m_layout.blockSize = blockSize;
  m_layout.numBlocks = numBlocks;
}

TokenId& FakeExecutor::slot(const exec::SequenceRows& rows, std::int64_t position) {
  const BlockId block = rows.blockTable[static_cast<std::size_t>(m_layout.blockOf(position))];
  return m_slots[static_cast<std::size_t>(std::int64_t{block.value} * m_layout.blockSize +
                                          m_layout.offsetOf(position))];
}

std::int64_t FakeExecutor::vocabSize() const {
  if (m_control->throwsAtSubmit.exchange(false)) throw std::runtime_error("something unforeseen");
  return kFakeVocabSize;
}

Result<void> FakeExecutor::pretendToWork(const std::atomic<bool>* cancel) {
  ++m_control->stepsBegun;
  if (!sleepUnlessRaised(m_control->stepDelayMs, cancel)) {
    return Error{ErrorCode::Cancelled, "the step was cancelled"};
  }
  if (m_control->throwsNext.exchange(false)) throw std::runtime_error("something unforeseen");
  if (m_control->stepsToFail > 0) {
    --m_control->stepsToFail;
    return Error{ErrorCode::DeviceFailed, "the device failed"};
  }
  return {};
}

Result<void> FakeExecutor::execute(std::span<const exec::SequenceRows> sequences,
                                   const std::atomic<bool>* cancel,
                                   const exec::LogitsSink& sink) {
  // as a real one: half of the keys and values are there already when the flag rises
  for (const exec::SequenceRows& rows : sequences) {
    for (std::size_t i = 0; i < rows.tokens.size(); ++i) {
      slot(rows, rows.firstPosition + static_cast<std::int64_t>(i)) = rows.tokens[i];
    }
  }
  TRY_VOID(pretendToWork(cancel));
  std::vector<float> logits;
  int first = 0, count = 0;
  const auto emit = [&] {
    if (count > 0) sink(first, count, logits.data());
    first += count;
    count = 0;
    logits.clear();
  };
  for (const exec::SequenceRows& rows : sequences) {
    const auto end = rows.firstPosition + static_cast<std::int64_t>(rows.tokens.size());
    for (std::int64_t p = end - rows.numLogitRows; p < end; ++p) {
      logits.resize(logits.size() + static_cast<std::size_t>(kFakeVocabSize));
      fillLogits(rows, p, logits.data() + logits.size() - kFakeVocabSize);
      if (++count == maxLogitRows()) emit();
    }
  }
  emit();
  ++m_control->stepsDone;
  return {};
}

void FakeExecutor::fillLogits(const exec::SequenceRows& rows, std::int64_t position, float* out) {
  std::uint64_t state = 1;
  bool isPoisoned = false;
  for (std::int64_t p = 0; p <= position; ++p) {
    const TokenId token = slot(rows, p);
    isPoisoned = isPoisoned || token == kFakePoison;
    state = mixBits(state ^ static_cast<std::uint64_t>(static_cast<std::int64_t>(token)));
  }
  for (TokenId id = 0; id < kFakeVocabSize; ++id) {
    const auto draw = [&](std::uint64_t salt) {
      return counterDraw(state, salt - 1, static_cast<std::uint64_t>(id), DrawStream::Workload);
    };
    out[id] = static_cast<float>(m_salt == 1 ? 8.0 * draw(1) : 4.0 * (draw(1) + draw(m_salt)));
  }
  if (m_control->neverEnds) out[kFakeEnd] = -50.0f;
  out[kFakePoison] = isPoisoned ? std::numeric_limits<float>::quiet_NaN() : -50.0f;
}

void FakeExecutor::copyBlocks(std::span<const kernels::BlockCopy> copies) {
  for (const kernels::BlockCopy& copy : copies) {
    std::copy_n(m_slots.begin() + std::int64_t{copy.from} * m_layout.blockSize, m_layout.blockSize,
                m_slots.begin() + std::int64_t{copy.to} * m_layout.blockSize);
  }
}

void FakeExecutor::readBlock(BlockId block, std::byte* out) const {
  std::memcpy(out, m_slots.data() + std::int64_t{block.value} * m_layout.blockSize,
              static_cast<std::size_t>(m_layout.blockSize) * sizeof(TokenId));
}

void FakeExecutor::writeBlock(BlockId block, const std::byte* in) {
  std::memcpy(m_slots.data() + std::int64_t{block.value} * m_layout.blockSize, in,
              static_cast<std::size_t>(m_layout.blockSize) * sizeof(TokenId));
}

Result<std::unique_ptr<OpenedModel>> FakeModelProvider::open(const EngineConfig& config,
                                                             const LoadObserver& observer) {
  observer.progress("reading", 1.0, 1000);
  if (config.load.modelPath.starts_with("missing")) {
    sleepUnlessRaised(m_control->loadDelayMs, observer.cancel);
    return Error{ErrorCode::NotFound, config.load.modelPath + " does not exist"};
  }
  return std::unique_ptr<OpenedModel>(std::make_unique<FakeOpenedModel>(m_control));
}

Result<MemoryEstimate> FakeModelProvider::estimate(const LoadConfig& config) {
  if (config.modelPath.starts_with("missing")) {
    return Error{ErrorCode::NotFound, config.modelPath + " does not exist"};
  }
  MemoryEstimate estimate;
  estimate.items.push_back({"weights", 1000, ""});
  estimate.totalBytes = 1000;
  return estimate;
}

}  // namespace test_support
