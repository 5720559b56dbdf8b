#include "engine/speculate/draft_model.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/random.h"

namespace engine::speculate {

namespace {

kv::KvCacheConfig cacheConfig(const exec::Executor& draft, const DraftModelConfig& config) {
  kv::KvCacheConfig result;
  result.blockSize = draft.layout().blockSize;
  result.numBlocks = draft.layout().numBlocks;
  result.maxContext = config.maxContext;
  result.identity = config.identity;
  return result;
}

}  // namespace

DraftModelProposer::DraftModelProposer(exec::Executor& draft, const DraftModelConfig& config)
    : m_draft(draft), m_config(config), m_cache(cacheConfig(draft, config)) {}

DraftModelProposer::Kept& DraftModelProposer::keptOf(const Proposal& proposal) {
  std::unique_ptr<Kept>& kept = m_kept[proposal.request];
  if (kept == nullptr) {
    kept = std::make_unique<Kept>(proposal.request, m_cache.config().blockSize,
                                  m_cache.makeChain(proposal.cacheNamespace));
  }
  if (kept->table.size() == 0) {
    const kv::PrefixMatch match = m_cache.findPrefix({&kept->chain, proposal.tokens});
    const auto reservation = m_cache.openReservation();
    reservation->attach(kept->table, match);
    reservation->commit();
    kept->computed.assign(proposal.tokens.begin(), proposal.tokens.begin() + match.numTokens);
    kept->published = std::ssize(match.blocks);
  }
  kept->lastUsed = m_round;
  return *kept;
}

// The newest token is always computed again: its row is where the guesses begin.
std::int64_t DraftModelProposer::numValid(const Kept& kept, std::span<const TokenId> tokens) const {
  const auto differs = std::ranges::mismatch(kept.computed, tokens).in1;
  return std::min<std::int64_t>(differs - kept.computed.begin(), std::ssize(tokens) - 1);
}

void DraftModelProposer::rewind(Kept& kept, std::span<const TokenId> tokens) {
  std::int64_t valid = numValid(kept, tokens);
  if (valid < kept.published * m_cache.config().blockSize) {
    // findable blocks are never written again: begin anew
    m_cache.release(kept.table);
    kept.published = valid = 0;
  }
  kept.computed.resize(static_cast<std::size_t>(valid));
}

bool DraftModelProposer::makeRoom(Kept& kept, std::int64_t num) {
  std::vector<kv::BlockCopy> copies;
  do {
    const auto reservation = m_cache.openReservation();
    if (reservation->tryGrow(kept.table, std::ssize(kept.computed), num, copies)) {
      CHECK(copies.empty());  // only findable blocks are shared, and those are full
      reservation->commit();
      return true;
    }
  } while (evictOldest());
  return false;
}

// What was not asked for in this round, the longest unused first.
bool DraftModelProposer::evictOldest() {
  auto oldest = m_kept.end();
  for (auto it = m_kept.begin(); it != m_kept.end(); ++it) {
    if (it->second->lastUsed == m_round || it->second->table.size() == 0) continue;
    if (oldest == m_kept.end() || it->second->lastUsed < oldest->second->lastUsed) oldest = it;
  }
  if (oldest == m_kept.end()) return false;
  m_cache.release(oldest->second->table);
  m_kept.erase(oldest);
  return true;
}

// Only tokens that stand become findable, and never the newest: it is computed again.
void DraftModelProposer::publish(Kept& kept,
                                 std::span<const TokenId> tokens,
                                 std::int64_t first) {
  const std::int64_t end = std::min(std::ssize(kept.computed), std::ssize(tokens) - 1);
  m_cache.markWritten(kept.table, first, std::ssize(kept.computed) - first);
  kept.published = m_cache.publish(kept.table, {&kept.chain, tokens}, kept.published, end);
}

std::int64_t DraftModelProposer::numBehind(std::span<const Proposal> proposals) const {
  std::int64_t sum = 0;
  for (const Proposal& one : proposals) {
    if (std::ssize(one.tokens) + 1 > m_config.maxContext) continue;
    const auto kept = m_kept.find(one.request);
    const std::int64_t valid =
        kept == m_kept.end() ? 0 : numValid(*kept->second, one.tokens);
    const std::int64_t behind = std::ssize(one.tokens) - valid;
    if (behind > kMaxLag) sum += behind - 1;
  }
  return sum;
}

std::int64_t DraftModelProposer::catchUp(std::span<const Proposal> proposals,
                                         std::int64_t budget) {
  ++m_round;
  m_error.reset();
  struct Part {
    Kept* kept;
    std::span<const TokenId> tokens;
    std::int64_t first, num;
  };
  std::vector<Part> parts;
  std::vector<exec::SequenceRows> rows;
  std::int64_t sum = 0;
  for (const Proposal& one : proposals) {
    if (std::ssize(one.tokens) + 1 > m_config.maxContext || one.count < 1) continue;
    Kept& kept = keptOf(one);
    rewind(kept, one.tokens);
    const std::int64_t first = std::ssize(kept.computed);
    if (std::ssize(one.tokens) - first <= kMaxLag) continue;
    const std::int64_t num = std::min(std::ssize(one.tokens) - 1 - first, budget - sum);
    if (num < 1 || !makeRoom(kept, num)) continue;
    sum += num;
    parts.push_back({&kept, one.tokens, first, num});
  }
  for (const Part& part : parts) {
    rows.push_back({part.tokens.subspan(static_cast<std::size_t>(part.first),
                                        static_cast<std::size_t>(part.num)),
                    part.first, part.kept->table.blocks(), 0});
  }
  if (rows.empty()) return 0;
  const Result<void> executed = m_draft.execute(rows, m_cancel, [](int, int, const float*) {});
  if (!executed) {
    m_error = executed.error();
    return sum;
  }
  for (const Part& part : parts) {
    const auto begin = part.tokens.begin() + part.first;
    part.kept->computed.insert(part.kept->computed.end(), begin, begin + part.num);
    publish(*part.kept, part.tokens, part.first);
  }
  return sum;
}

std::optional<DraftModelProposer::Run> DraftModelProposer::begin(Proposal& proposal) {
  const std::int64_t length = std::ssize(proposal.tokens);
  const std::int64_t count = std::min<std::int64_t>(proposal.count, m_config.maxContext - length);
  if (count < 1) return std::nullopt;
  Kept& kept = keptOf(proposal);
  rewind(kept, proposal.tokens);
  const std::int64_t first = std::ssize(kept.computed);
  if (length - first > kMaxLag || !makeRoom(kept, length - first + count - 1)) return std::nullopt;
  Run run{&proposal, &kept, {}, static_cast<int>(count)};
  run.feed.assign(proposal.tokens.begin() + first, proposal.tokens.end());
  return run;
}

void DraftModelProposer::propose(std::span<Proposal> proposals) {
  ++m_round;
  m_error.reset();
  std::vector<Run> runs;
  for (Proposal& one : proposals) {
    one.drafts.clear();
    one.drawnFrom.clear();
    if (auto run = begin(one)) runs.push_back(std::move(*run));
  }
  while (!runs.empty() && runPass(runs)) {
    std::erase_if(runs, [](const Run& run) { return !run.isOpen; });
  }
  for (Proposal& one : proposals) {
    if (one.history != nullptr) one.history->rollback(one.drafts.size());
    if (one.mask != nullptr) one.mask->rollback(one.drafts.size());
  }
}

// One step of the draft model: a guess for each run.
bool DraftModelProposer::runPass(std::vector<Run>& runs) {
  std::vector<exec::SequenceRows> rows;
  for (const Run& run : runs) {
    rows.push_back({run.feed, std::ssize(run.kept->computed), run.kept->table.blocks(), 1});
  }
  const auto width = static_cast<std::size_t>(m_draft.vocabSize());
  const std::size_t used = std::min(width, static_cast<std::size_t>(m_config.vocabSize));
  const Result<void> executed =
      m_draft.execute(rows, m_cancel, [&](int first, int count, const float* logits) {
        for (int i = 0; i < count; ++i) {
          draft(runs[static_cast<std::size_t>(first + i)],
                std::span(logits + static_cast<std::size_t>(i) * width, used));
        }
      });
  if (!executed) {
    m_error = executed.error();
    return false;
  }
  for (Run& run : runs) {
    const std::int64_t first = std::ssize(run.kept->computed);
    run.kept->computed.insert(run.kept->computed.end(), run.feed.begin(), run.feed.end());
    if (first < std::ssize(run.proposal->tokens)) {
      publish(*run.kept, run.proposal->tokens, first);
    }
    run.isOpen = run.isOpen && std::ssize(run.proposal->drafts) < run.count;
    if (run.isOpen) run.feed.assign(1, run.proposal->drafts.back());
  }
  return true;
}

void DraftModelProposer::draft(Run& run, std::span<const float> logits) {
  Proposal& proposal = *run.proposal;
  sample::DrawRequest draw;
  draw.logits = logits;
  draw.params = proposal.params;
  draw.history = proposal.history;
  draw.mask = proposal.mask;
  draw.sample = proposal.sample;
  draw.position = std::ssize(proposal.tokens) + std::ssize(proposal.drafts);
  auto distribution = m_sampler.distribution(draw);
  if (!distribution || distribution->isEmpty()) {  // a row that gives nothing ends the guessing
    run.isOpen = false;
    return;
  }
  const double u = counterDraw(proposal.params->seed, proposal.sample,
                               static_cast<std::uint64_t>(draw.position), DrawStream::Draft);
  const TokenId id = distribution->draw(u);
  if (proposal.params->temperature > 0.0f) {
    proposal.drawnFrom.push_back(std::move(distribution).value());
  }
  proposal.drafts.push_back(id);
  if (proposal.history != nullptr) proposal.history->append(id);
  if (proposal.mask != nullptr) proposal.mask->accept(id);
}

void DraftModelProposer::keepOnly(const std::function<bool(RequestId)>& isThere) {
  std::erase_if(m_kept, [&](auto& entry) {
    if (isThere(entry.first)) return false;
    m_cache.release(entry.second->table);
    return true;
  });
}

}  // namespace engine::speculate
