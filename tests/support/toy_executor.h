// Runs step plans on a pretend KV pool whose every slot says what it should hold, so that a stale,
// foreign or missing block shows at the step that reads it, and tokens depend on the whole prefix.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/base/ids.h"
#include "engine/sched/step_plan.h"

namespace support {

class ToyExecutor {
 public:
  ToyExecutor(std::int64_t numBlocks, int blockSize, engine::TokenId vocabSize)
      : m_blockSize(blockSize),
        m_vocabSize(vocabSize),
        m_slots(static_cast<std::size_t>(numBlocks) * static_cast<std::size_t>(blockSize), 0) {}

  // All tokens of a request, from position 0.
  using TokensOf = std::function<std::span<const engine::TokenId>(engine::RequestId)>;

  // Swaps, copies, then checks what each row reads and writes what it computes. sampled[i]: the
  // tokens of row i (accepted drafts and one more; none when the row does not sample). Returns what
  // is wrong, or nothing.
  std::string execute(const engine::sched::StepPlan& plan,
                      const TokensOf& tokensOf,
                      std::vector<std::vector<engine::TokenId>>& sampled);
  // A step that dies on the way: swaps and copies done and garbage in every slot that it may write.
  void spoil(const engine::sched::StepPlan& plan);

  // Garbage in every slot that the row may write.
  void spoilRow(const engine::sched::PlanRow& row);

  // The token that follows these.
  engine::TokenId nextOf(std::span<const engine::TokenId> tokens) const;

 private:
  std::uint64_t& slot(const engine::sched::PlanRow& row, std::int64_t position);
  void moveBlocks(const engine::sched::StepPlan& plan);

  engine::TokenId tokenOf(std::uint64_t state) const {
    return static_cast<engine::TokenId>((state >> 20) % static_cast<std::uint64_t>(m_vocabSize));
  }

  int m_blockSize;
  engine::TokenId m_vocabSize;
  std::vector<std::uint64_t> m_slots;
  std::map<engine::kv::SwapSlot, std::vector<std::uint64_t>> m_host;  // swapped-out blocks
};

}  // namespace support
