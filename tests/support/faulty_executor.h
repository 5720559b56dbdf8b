// An executor with one seeded fault of the kinds that serving engines really had: tests that demand
// equal answers must notice each.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/exec/executor.h"

namespace test_support {

enum class Fault {
  None,
  LostCopy,          // a block that was copied keeps what it held before
  LostSwapIn,        // a block comes back from host memory with what was in its place
  NeighbourSwapOut,  // another block's content goes to host memory
  OffByOneResume,    // a chunk that is not the first is computed one position early
  ForeignBlock,      // a sequence reads the first block of its batch mate
  SplitByBatch,      // the last bits of a row depend on how many sequences share the step
  SwappedRows,       // two rows of logits change places
  DroppedToken,      // the first token of a chunk is computed as its second
  LostWrite,         // a token's own keys and values are not kept
  StaleBlock,        // a prompt's first block keeps what it held before
  RepeatedDraftRow,  // a guess is verified against the row before it
};

inline constexpr Fault kFaults[] = {
    Fault::LostCopy,     Fault::LostSwapIn,   Fault::NeighbourSwapOut, Fault::OffByOneResume,
    Fault::ForeignBlock, Fault::SplitByBatch, Fault::SwappedRows,      Fault::DroppedToken,
    Fault::LostWrite,    Fault::StaleBlock,   Fault::RepeatedDraftRow};

const char* faultName(Fault fault);

class FaultyExecutor final : public engine::exec::Executor {
 public:
  FaultyExecutor(std::unique_ptr<engine::exec::Executor> inner, Fault fault)
      : m_inner(std::move(inner)), m_fault(fault) {}

  engine::Result<void> execute(std::span<const engine::exec::SequenceRows> sequences,
                               const std::atomic<bool>* cancel,
                               const engine::exec::LogitsSink& sink) override;

  std::int64_t vocabSize() const override { return m_inner->vocabSize(); }

  int maxLogitRows() const override { return m_inner->maxLogitRows(); }

  const kernels::KvLayout& layout() const override { return m_inner->layout(); }

  kernels::BackendInfo info() const override { return m_inner->info(); }

  kernels::OpsCounters takeCounters() override { return m_inner->takeCounters(); }

  void copyBlocks(std::span<const kernels::BlockCopy> copies) override {
    if (m_fault != Fault::LostCopy) m_inner->copyBlocks(copies);
  }

  void readBlock(engine::BlockId block, std::byte* out) const override;
  void writeBlock(engine::BlockId block, const std::byte* in) override;

 private:
  using Rows = std::vector<engine::exec::SequenceRows>;

  void bendRows(Rows& rows);
  // Rows of logits as the sink shall see them; verified: by row, whether it follows a guess.
  std::vector<float> bendLogits(int count,
                                const float* logits,
                                std::size_t numSequences,
                                std::span<const bool> followsGuess) const;

  std::unique_ptr<engine::exec::Executor> m_inner;
  Fault m_fault;
  std::vector<std::vector<engine::TokenId>> m_tokens;  // bent ones, for the length of a step
  std::vector<std::vector<engine::BlockId>> m_tables;
};

}  // namespace test_support
