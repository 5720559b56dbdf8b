#include "tests/support/faulty_executor.h"

#include <algorithm>
#include <utility>

namespace test_support {

using namespace engine;
using exec::SequenceRows;

namespace {

constexpr std::size_t kFewSequences = 2;  // a batch of more bends the rows under SplitByBatch

}  // namespace

const char* faultName(Fault fault) {
  switch (fault) {
    case Fault::None:
      return "none";
    case Fault::LostCopy:
      return "lost copy";
    case Fault::LostSwapIn:
      return "lost swap-in";
    case Fault::NeighbourSwapOut:
      return "neighbour's swap-out";
    case Fault::OffByOneResume:
      return "off-by-one resume";
    case Fault::ForeignBlock:
      return "foreign block";
    case Fault::SplitByBatch:
      return "split by batch";
    case Fault::SwappedRows:
      return "swapped rows";
    case Fault::DroppedToken:
      return "dropped token";
    case Fault::LostWrite:
      return "lost write";
    case Fault::StaleBlock:
      return "stale block";
    case Fault::RepeatedDraftRow:
      return "repeated draft row";
  }
  return "unknown";
}

void FaultyExecutor::readBlock(BlockId block, std::byte* out) const {
  const bool isBent = m_fault == Fault::NeighbourSwapOut && layout().numBlocks > 1;
  m_inner->readBlock(isBent ? BlockId(block.value == 0 ? 1 : block.value - 1) : block, out);
}

void FaultyExecutor::writeBlock(BlockId block, const std::byte* in) {
  if (m_fault != Fault::LostSwapIn) m_inner->writeBlock(block, in);
}

void FaultyExecutor::bendRows(Rows& rows) {
  m_tokens.clear();
  m_tables.clear();
  m_tokens.reserve(rows.size());  // spans into them stay
  m_tables.reserve(rows.size());
  for (SequenceRows& one : rows) {
    if (m_fault == Fault::OffByOneResume && one.firstPosition > 0 && one.tokens.size() > 1) {
      --one.firstPosition;
    }
    if (m_fault == Fault::DroppedToken && one.tokens.size() > 1) {
      auto& tokens = m_tokens.emplace_back(one.tokens.begin(), one.tokens.end());
      tokens[0] = tokens[1];
      one.tokens = tokens;
    }
    if (m_fault == Fault::ForeignBlock && &one != &rows.front() && one.firstPosition > 0 &&
        one.firstPosition >= layout().blockSize) {
      auto& table = m_tables.emplace_back(one.blockTable.begin(), one.blockTable.end());
      table[0] = rows.front().blockTable[0];
      one.blockTable = table;
    }
  }
}

std::vector<float> FaultyExecutor::bendLogits(int count,
                                              const float* logits,
                                              std::size_t numSequences,
                                              std::span<const bool> followsGuess) const {
  const auto width = static_cast<std::size_t>(vocabSize());
  std::vector<float> bent(logits, logits + static_cast<std::size_t>(count) * width);
  const auto row = [&](int i) {
    return std::span(bent).subspan(static_cast<std::size_t>(i) * width, width);
  };
  if (m_fault == Fault::SplitByBatch && numSequences > kFewSequences) {
    for (float& value : bent) value *= 1.0f + 1e-6f;
  }
  if (m_fault == Fault::SwappedRows && count > 1) std::ranges::swap_ranges(row(0), row(1));
  if (m_fault == Fault::RepeatedDraftRow) {
    for (int i = count - 1; i > 0; --i) {
      if (followsGuess[static_cast<std::size_t>(i)]) std::ranges::copy(row(i - 1), row(i).begin());
    }
  }
  return bent;
}

Result<void> FaultyExecutor::execute(std::span<const SequenceRows> sequences,
                                     const std::atomic<bool>* cancel,
                                     const exec::LogitsSink& sink) {
  Rows rows(sequences.begin(), sequences.end());
  bendRows(rows);
  std::size_t most = 0;
  for (const SequenceRows& one : rows) most += static_cast<std::size_t>(one.numLogitRows);
  const auto follows = std::make_unique<bool[]>(most + 1);
  std::size_t numRows = 0;
  for (const SequenceRows& one : rows) {
    for (int i = 0; i < one.numLogitRows; ++i) follows[numRows++] = i > 0;
  }
  const auto bytes = static_cast<std::size_t>(layout().bytesPerBlock());
  std::vector<std::pair<BlockId, std::vector<std::byte>>> stale;
  for (const SequenceRows& one : rows) {
    const bool isStale = m_fault == Fault::StaleBlock && one.firstPosition == 0;
    const bool isLost = m_fault == Fault::LostWrite && one.firstPosition > 0;
    if (!isStale && !isLost) continue;
    const auto block = static_cast<std::size_t>(one.firstPosition / layout().blockSize);
    stale.emplace_back(one.blockTable[block], std::vector<std::byte>(bytes));
    m_inner->readBlock(stale.back().first, stale.back().second.data());
  }
  const Result<void> done =
      m_inner->execute(rows, cancel, [&](int first, int count, const float* logits) {
        const auto begin = static_cast<std::size_t>(first);
        sink(first, count,
             bendLogits(count, logits, rows.size(),
                        std::span<const bool>(follows.get() + begin, numRows - begin))
                 .data());
      });
  for (const auto& [block, content] : stale) m_inner->writeBlock(block, content.data());
  return done;
}

}  // namespace test_support
