#include "tests/support/toy_executor.h"

#include <algorithm>

#include "engine/base/random.h"

namespace support {

using engine::TokenId;
using engine::sched::PlanRow;
using engine::sched::StepPlan;

namespace {

// What the slot of a position holds: it depends on every token up to there.
std::uint64_t after(std::uint64_t state, TokenId token) {
  return engine::mixBits(state ^ (static_cast<std::uint64_t>(token) + 1));
}

}  // namespace

std::uint64_t& ToyExecutor::slot(const PlanRow& row, std::int64_t position) {
  const auto logical = static_cast<std::size_t>(position / m_blockSize);
  const auto block = static_cast<std::int64_t>(row.blockTable[logical].value);
  return m_slots[static_cast<std::size_t>(block * m_blockSize + position % m_blockSize)];
}

void ToyExecutor::moveBlocks(const StepPlan& plan) {
  const auto begin = [this](engine::BlockId block) {
    return m_slots.begin() + std::int64_t{block.value} * m_blockSize;
  };
  for (const engine::kv::SwapMove& out : plan.swapOuts) {
    m_host[out.slot].assign(begin(out.block), begin(out.block) + m_blockSize);
  }
  for (const engine::kv::SwapMove& in : plan.swapIns) {
    std::ranges::copy(m_host.at(in.slot), begin(in.block));
  }
  for (const engine::kv::BlockCopy& copy : plan.copies) {
    std::copy_n(m_slots.begin() + std::int64_t{copy.from.value} * m_blockSize, m_blockSize,
                m_slots.begin() + std::int64_t{copy.to.value} * m_blockSize);
  }
}

std::string ToyExecutor::execute(const StepPlan& plan,
                                 const TokensOf& tokensOf,
                                 std::vector<std::vector<TokenId>>& sampled) {
  moveBlocks(plan);
  sampled.assign(plan.rows.size(), {});
  for (std::size_t r = 0; r < plan.rows.size(); ++r) {
    const PlanRow& row = plan.rows[r];
    const std::span<const TokenId> own = tokensOf(row.request);
    std::uint64_t state = 0;
    for (std::int64_t p = 0; p < row.firstPosition; ++p) {
      state = after(state, own[static_cast<std::size_t>(p)]);
      if (slot(row, p) != state) {
        return "request " + std::to_string(row.request.value) + " reads a wrong slot at position " +
               std::to_string(p) + " in step " + std::to_string(plan.id.value);
      }
    }
    std::vector<TokenId> next;  // after each token of the row
    for (int i = 0; i < row.numTokens; ++i) {
      state = after(state, plan.tokens[static_cast<std::size_t>(row.firstToken + i)]);
      slot(row, row.firstPosition + i) = state;
      next.push_back(tokenOf(state));
    }
    if (!row.samples) continue;
    // a draft is accepted while it is what the token before it calls for
    const int begin = row.numTokens - row.numDrafts - 1;
    for (int i = begin; i < row.numTokens; ++i) {
      sampled[r].push_back(next[static_cast<std::size_t>(i)]);
      const bool isLast = i + 1 == row.numTokens;
      if (isLast ||
          plan.tokens[static_cast<std::size_t>(row.firstToken + i + 1)] != sampled[r].back()) {
        break;
      }
    }
  }
  return {};
}

void ToyExecutor::spoil(const StepPlan& plan) {
  moveBlocks(plan);
  for (const PlanRow& row : plan.rows) spoilRow(row);
}

void ToyExecutor::spoilRow(const PlanRow& row) {
  for (std::int64_t p = row.firstPosition; p < row.kvLength(); ++p) {
    slot(row, p) = 0xDEADull + static_cast<std::uint64_t>(p);
  }
}

TokenId ToyExecutor::nextOf(std::span<const TokenId> tokens) const {
  std::uint64_t state = 0;
  for (const TokenId token : tokens) state = after(state, token);
  return tokenOf(state);
}

}  // namespace support
