// A small KV cache with its event log, and the two or three calls that most of its tests begin
// with.
#pragma once

#include <deque>
#include <span>
#include <string>
#include <vector>

#include "engine/kv/kv_cache.h"
#include "engine/kv/kv_invariants.h"

namespace support {

inline engine::kv::KvCacheConfig pagedConfig(std::int64_t numBlocks, int blockSize) {
  engine::kv::KvCacheConfig config;
  config.blockSize = blockSize;
  config.numBlocks = numBlocks;
  config.maxContext = numBlocks * blockSize;
  config.identity = "toy";
  return config;
}

inline std::vector<engine::TokenId> countingTokens(std::int64_t count, engine::TokenId first = 0) {
  std::vector<engine::TokenId> tokens(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    tokens[i] = first + static_cast<engine::TokenId>(i);
  }
  return tokens;
}

struct KvRig {
  // What a request holds, as the scheduler would.
  struct Held {
    Held(engine::RequestId id, int blockSize, engine::kv::HashChain theChain)
        : table(id, blockSize), chain(std::move(theChain)) {}

    engine::kv::BlockTable table;
    engine::kv::HashChain chain;
    std::int64_t numComputed = 0, published = 0;
  };

  explicit KvRig(const engine::kv::KvCacheConfig& config)
      : cache(config, [this](const engine::BlockRecord& record) { events.push_back(record); }) {}

  explicit KvRig(std::int64_t numBlocks, int blockSize = 4)
      : KvRig(pagedConfig(numBlocks, blockSize)) {}

  Held& add(const std::string& nameSpace = "") {
    return held.emplace_back(engine::RequestId(held.size()), cache.config().blockSize,
                             cache.makeChain(nameSpace));
  }

  // As a committed step that computes tokens up to `end`; false when the pool cannot.
  bool compute(Held& one, std::span<const engine::TokenId> tokens, std::int64_t end) {
    auto reservation = cache.openReservation();
    std::vector<engine::kv::BlockCopy> stepCopies;
    const std::int64_t count = end - one.numComputed;
    if (!reservation->tryGrow(one.table, one.numComputed, count, stepCopies)) return false;
    reservation->commit();
    copies.insert(copies.end(), stepCopies.begin(), stepCopies.end());
    cache.markWritten(one.table, one.numComputed, count);
    one.numComputed = end;
    one.published = cache.publish(one.table, {&one.chain, tokens}, one.published, end);
    return true;
  }

  // As an admission that finds what it can in the prefix index.
  engine::kv::PrefixMatch enter(Held& one, std::span<const engine::TokenId> tokens) {
    const engine::kv::PrefixMatch match = cache.findPrefix({&one.chain, tokens});
    auto reservation = cache.openReservation();
    reservation->attach(one.table, match);
    reservation->commit();
    one.numComputed = match.numTokens;
    one.published = static_cast<std::int64_t>(match.blocks.size());
    return match;
  }

  void release(Held& one) {
    cache.release(one.table);
    one.numComputed = one.published = 0;
  }

  std::vector<std::string> violations() const {
    engine::kv::KvFacts facts = engine::kv::takeFacts(cache);
    for (const Held& one : held) {
      const auto blocks = one.table.blocks();
      facts.holders.push_back(
          {one.table.owner(), {blocks.begin(), blocks.end()}, one.numComputed, one.published});
    }
    return engine::kv::findViolations(facts);
  }

  std::vector<engine::BlockOp> ops() const {
    std::vector<engine::BlockOp> all;
    for (const engine::BlockRecord& record : events) all.push_back(record.op);
    return all;
  }

  std::vector<engine::BlockRecord> events;
  std::vector<engine::kv::BlockCopy> copies;
  engine::kv::KvCache cache;
  std::deque<Held> held;  // addresses stay
};

}  // namespace support
