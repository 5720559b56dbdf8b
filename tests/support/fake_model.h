// A toy model for tests of scheduling and service: its logits are a pure function of the sequence's
// tokens as read back through the paged cache, so a wrong block table shows as a wrong answer.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/service/loaded_model.h"

namespace test_support {

// Byte tokens 0..255; then these.
inline constexpr engine::TokenId kFakeEnd = 256;     // ends a turn
inline constexpr engine::TokenId kFakePoison = 257;  // a sequence that holds it gets NaN logits
inline constexpr engine::TokenId kFakeVocabSize = 258;

// Set by the test's thread, read by the engine's.
struct FakeControl {
  std::atomic<int> stepDelayMs{0};  // of each step; looks at the cancel flag every millisecond
  std::atomic<int> stepsToFail{0};  // the next so many steps fail on the device
  std::atomic<bool> throwsNext{false};
  std::atomic<bool> throwsAtSubmit{false};  // while the next request is looked at
  std::atomic<int> stepsBegun{0}, stepsDone{0};
  std::atomic<int> loadDelayMs{0};  // looks at the cancel flag every millisecond
  std::atomic<int> loadsBegun{0}, loadsEnded{0};
  std::atomic<bool> holdsChats{false};  // conversations are rendered when it falls
  std::atomic<bool> neverEnds{true};  // no end-of-turn token is ever likely
};

class FakeExecutor final : public engine::exec::Executor {
 public:
  // salt: another one gives another model.
  FakeExecutor(std::shared_ptr<FakeControl> control,
               int blockSize,
               std::int64_t numBlocks,
               std::uint64_t salt = 1);

  engine::Result<void> execute(std::span<const engine::exec::SequenceRows> sequences,
                               const std::atomic<bool>* cancel,
                               const engine::exec::LogitsSink& sink) override;

  std::int64_t vocabSize() const override;

  int maxLogitRows() const override { return 3; }  // few, so that chunks are met

  const kernels::KvLayout& layout() const override { return m_layout; }

  kernels::BackendInfo info() const override { return {"fake", "fake", "", 1, 0, 0, 0}; }

  kernels::OpsCounters takeCounters() override { return {}; }

  void copyBlocks(std::span<const kernels::BlockCopy> copies) override;
  void readBlock(engine::BlockId block, std::byte* out) const override;
  void writeBlock(engine::BlockId block, const std::byte* in) override;

 private:
  engine::Result<void> pretendToWork(const std::atomic<bool>* cancel);
  engine::TokenId& slot(const engine::exec::SequenceRows& rows, std::int64_t position);
  void fillLogits(const engine::exec::SequenceRows& rows, std::int64_t position, float* out);

  std::shared_ptr<FakeControl> m_control;
  std::uint64_t m_salt;
  kernels::KvLayout m_layout;
  std::vector<engine::TokenId> m_slots;  // [numBlocks, blockSize]; -1 = never written
};

// Paths: "missing..." cannot be opened, "broken..." fails while loading, "nochat..." has no
// template, "bos..." puts byte 1 before raw prompts. kvBlocks (64), blockSize and maxContext (256)
// as asked. A draft model "same" is the model itself, "failing" one whose device always fails,
// every other path one that shares half of its logits.
class FakeModelProvider final : public engine::service::ModelProvider {
 public:
  explicit FakeModelProvider(std::shared_ptr<FakeControl> control)
      : m_control(std::move(control)) {}

  engine::Result<std::unique_ptr<engine::service::OpenedModel>> open(
      const engine::EngineConfig& config, const engine::service::LoadObserver& observer) override;
  engine::Result<engine::MemoryEstimate> estimate(const engine::LoadConfig& config) override;

 private:
  std::shared_ptr<FakeControl> m_control;
};

std::shared_ptr<const engine::text::Tokenizer> makeFakeTokenizer(bool addBos);

}  // namespace test_support
