// A small model that guesses for a large one of the same vocabulary, with a paged KV cache of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/exec/executor.h"
#include "engine/kv/kv_cache.h"
#include "engine/sample/sampler.h"
#include "engine/speculate/proposer.h"

namespace engine::speculate {

struct DraftModelConfig {
  std::int64_t maxContext = 0;  // of the draft model: beyond it there are no guesses
  std::int64_t vocabSize = 0;   // of the large model: its ids alone are drawn
  std::string identity;         // part of the draft's prefix keys
};

// Greedy requests get its likeliest tokens, named for certain; the others get draws from what the
// request's own chain leaves of its rows. What it has computed of a sequence is found again by
// comparing tokens, so preemption, forks, rejected guesses and steps that were not carried out need
// no word to it. Engine thread only; the executor must outlive it.
class DraftModelProposer final : public Proposer {
 public:
  DraftModelProposer(exec::Executor& draft, const DraftModelConfig& config);

  // May be null; a flag that rises ends the call soon, with the guesses made so far.
  void setCancel(const std::atomic<bool>* cancel) { m_cancel = cancel; }

  // Computes what it lacks of the sequences, at most `budget` tokens; returns how many. A sequence
  // that lacks more than kMaxLag tokens afterwards gets no guesses.
  std::int64_t catchUp(std::span<const Proposal> proposals, std::int64_t budget);
  // How many tokens catchUp() would compute without a budget.
  std::int64_t numBehind(std::span<const Proposal> proposals) const;

  void propose(std::span<Proposal> proposals) override;

  // Gives back the blocks of sequences that are not there any more.
  void keepOnly(const std::function<bool(RequestId)>& isThere);

  const kv::BlockPool& pool() const { return m_cache.pool(); }

  // Why the last call ended early; a device that fails costs guesses, never an answer.
  const std::optional<Error>& error() const { return m_error; }

  static constexpr std::int64_t kMaxLag = 32;

 private:
  // What is kept of a sequence: `computed` are the tokens whose KV is in the table's blocks.
  struct Kept {
    Kept(RequestId id, int blockSize, kv::HashChain theChain)
        : table(id, blockSize), chain(std::move(theChain)) {}

    kv::BlockTable table;
    kv::HashChain chain;
    std::vector<TokenId> computed;
    std::int64_t published = 0;
    std::uint64_t lastUsed = 0;
  };

  // One sequence of the call at work: what it feeds next.
  struct Run {
    Proposal* proposal;
    Kept* kept;
    std::vector<TokenId> feed;
    int count;
    bool isOpen = true;
  };

  Kept& keptOf(const Proposal& proposal);
  std::int64_t numValid(const Kept& kept, std::span<const TokenId> tokens) const;
  void rewind(Kept& kept, std::span<const TokenId> tokens);
  bool makeRoom(Kept& kept, std::int64_t num);
  bool evictOldest();
  void publish(Kept& kept, std::span<const TokenId> tokens, std::int64_t first);
  std::optional<Run> begin(Proposal& proposal);
  bool runPass(std::vector<Run>& runs);
  void draft(Run& run, std::span<const float> logits);

  exec::Executor& m_draft;
  const DraftModelConfig m_config;
  kv::KvCache m_cache;
  sample::Sampler m_sampler;
  const std::atomic<bool>* m_cancel = nullptr;
  std::unordered_map<RequestId, std::unique_ptr<Kept>> m_kept;
  std::uint64_t m_round = 0;
  std::optional<Error> m_error;
};

}  // namespace engine::speculate
