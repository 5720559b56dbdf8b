#include "engine/sched/sched_invariants.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "engine/kv/kv_invariants.h"

namespace engine::sched {

namespace {

using Violations = std::vector<std::string>;

bool isQueued(RequestState state) {
  return state == RequestState::Waiting || state == RequestState::Preempted;
}

void checkSequence(const Sequence& sequence,
                   const kv::KvCache& cache,
                   bool isRunning,
                   Violations& out) {
  const auto id = sequence.spec.id.value;
  if (isQueued(sequence.progress.state) == isRunning) {
    out.push_back(fmt::format("request {} is in the wrong queue for its state", id));
  }
  if (!isRunning && (sequence.table.size() > 0 || sequence.progress.numComputed > 0)) {
    out.push_back(fmt::format("request {} waits and holds {} blocks, {} tokens computed", id,
                              sequence.table.size(), sequence.progress.numComputed));
  }
  const auto slots = static_cast<std::int64_t>(sequence.swapSlots.size());
  if (isRunning ? slots > 0 || sequence.progress.swappedTokens > 0
                : slots != cache.blocksFor(sequence.progress.swappedTokens)) {
    out.push_back(fmt::format("request {} has {} blocks of host memory for {} tokens", id, slots,
                              sequence.progress.swappedTokens));
  }
  if (sequence.isParked() && (!isRunning || sequence.progress.state != RequestState::Finished)) {
    out.push_back(fmt::format("request {} is held and has not ended", id));
  }
  // the newest token is not computed between steps, except of a beam whose next one is not chosen
  if (sequence.progress.numComputed > sequence.numTokens() ||
      (sequence.isHeld() && !sequence.spec.isBeam)) {
    out.push_back(fmt::format("request {} has computed {} of {} tokens", id,
                              sequence.progress.numComputed, sequence.numTokens()));
  }
  if (sequence.tokens.back() != sequence.newest) {
    out.push_back(fmt::format("request {} has another newest token in its list", id));
  }
  if (sequence.numOutput() > sequence.spec.maxTokens) {
    out.push_back(fmt::format("request {} has {} outputs, {} were asked for", id,
                              sequence.numOutput(), sequence.spec.maxTokens));
  }
}

// Every place in host memory that is taken belongs to one request that waits.
void checkSwap(const Scheduler& scheduler, Violations& out) {
  const kv::SwapSpace& space = scheduler.cache().swapSpace();
  std::set<kv::SwapSlot> seen;
  for (const Sequence* sequence : scheduler.waiting()) {
    for (const kv::SwapSlot slot : sequence->swapSlots) {
      if (!space.isUsed(slot) || !seen.insert(slot).second) {
        out.push_back(fmt::format("request {} counts on block {} of host memory, which is not its",
                                  sequence->spec.id.value, slot));
      }
    }
  }
  if (static_cast<std::int64_t>(seen.size()) != space.numUsed()) {
    out.push_back(fmt::format("{} blocks of host memory are taken, {} are held", space.numUsed(),
                              seen.size()));
  }
}

void checkRowShape(const StepPlan& plan,
                   const PlanRow& row,
                   const Sequence& owner,
                   Violations& out) {
  const auto id = row.request.value;
  if (row.numTokens < 1 || row.numDrafts < 0 || row.numDrafts >= row.numTokens) {
    out.push_back(fmt::format("row of {}: {} tokens, {} drafts", id, row.numTokens, row.numDrafts));
  }
  if (row.firstPosition != owner.progress.numComputed) {
    out.push_back(fmt::format("row of {} begins at {}, {} are computed", id, row.firstPosition,
                              owner.progress.numComputed));
  }
  const bool reachesEnd = row.kvLength() - row.numDrafts == owner.numTokens();
  if (row.samples != reachesEnd) {
    out.push_back(
        fmt::format("row of {} samples at {} of {} tokens", id, row.kvLength(), owner.numTokens()));
  }
  for (int i = 0; i < row.numTokens - row.numDrafts; ++i) {
    const auto token = static_cast<std::size_t>(row.firstToken + i);
    const auto own = static_cast<std::size_t>(row.firstPosition + i);
    if (token >= plan.tokens.size() || own >= owner.tokens.size() ||
        plan.tokens[token] != owner.tokens[own]) {
      out.push_back(fmt::format("row of {} has another token at position {}", id, own));
      return;
    }
  }
}

// Every slot that the row writes exists, belongs to it alone, and is no findable block's.
void checkRowSlots(const PlanRow& row,
                   const kv::BlockPool& pool,
                   std::set<std::int64_t>& written,
                   Violations& out) {
  for (std::int64_t position = row.firstPosition; position < row.kvLength(); ++position) {
    const std::int64_t logical = position / pool.blockSize();
    if (logical >= static_cast<std::int64_t>(row.blockTable.size())) {
      out.push_back(
          fmt::format("row of {} has no slot for position {}", row.request.value, position));
      return;
    }
    const BlockId id = row.blockTable[static_cast<std::size_t>(logical)];
    const kv::Block& block = pool.block(id);
    if (block.refCount != 1 || block.hash != 0) {
      out.push_back(fmt::format("row of {} writes to block {}, which has {} holders",
                                row.request.value, id.value, block.refCount));
      return;
    }
    if (!written.insert(std::int64_t{id.value} * pool.blockSize() + position % pool.blockSize())
             .second) {
      out.push_back(fmt::format("row of {} writes to a slot of another row", row.request.value));
    }
  }
}

void checkCopies(const StepPlan& plan, Violations& out) {
  std::set<BlockId> overwritten;
  for (const kv::BlockCopy& copy : plan.copies) {
    if (copy.from == copy.to || overwritten.contains(copy.from)) {
      out.push_back(fmt::format("a copy reads block {} after it was overwritten", copy.from.value));
    }
    if (!overwritten.insert(copy.to).second) {
      out.push_back(fmt::format("two copies go to block {}", copy.to.value));
    }
  }
}

}  // namespace

std::vector<std::string> findViolations(const Scheduler& scheduler) {
  Violations out;
  std::uint64_t lastOrder = 0;
  kv::KvFacts facts = kv::takeFacts(scheduler.cache());
  for (const Sequence* sequence : scheduler.running()) {
    checkSequence(*sequence, scheduler.cache(), true, out);
    if (sequence->progress.admissionOrder <= lastOrder) out.push_back("running is out of order");
    lastOrder = sequence->progress.admissionOrder;
    const auto blocks = sequence->table.blocks();
    facts.holders.push_back({sequence->spec.id,
                             {blocks.begin(), blocks.end()},
                             sequence->progress.numComputed,
                             sequence->progress.publishedBlocks});
  }
  for (const Sequence* sequence : scheduler.waiting()) {
    checkSequence(*sequence, scheduler.cache(), false, out);
  }
  checkSwap(scheduler, out);
  for (std::string& one : kv::findViolations(facts)) out.push_back(std::move(one));
  return out;
}

std::vector<std::string> findPlanViolations(const StepPlan& plan, const Scheduler& scheduler) {
  Violations out;
  std::set<RequestId> seen;
  std::set<std::int64_t> written;
  std::int64_t sum = 0;
  bool hasAdmitted = false;
  for (const PlanRow& row : plan.rows) {
    const Sequence* owner = scheduler.find(row.request);
    if (owner == nullptr || !seen.insert(row.request).second) {
      out.push_back(fmt::format("request {} has no place in the plan", row.request.value));
      continue;
    }
    if (row.firstToken != sum) out.push_back("tokens are not packed row after row");
    sum += row.numTokens;
    // a batch may enter before the budget reaches all of it: its first rows come later
    hasAdmitted = hasAdmitted || (row.entry != RowEntry::Continues && !plan.holdsResults);
    checkRowShape(plan, row, *owner, out);
    checkRowSlots(row, scheduler.cache().pool(), written, out);
  }
  if (sum > plan.budget || sum != plan.numTokens() ||
      sum != static_cast<std::int64_t>(plan.tokens.size())) {
    out.push_back(
        fmt::format("{} tokens in rows, {} told, budget {}", sum, plan.numTokens(), plan.budget));
  }
  // content leaves before anything is written, so what comes in may not go where something leaves
  if (!plan.swapIns.empty() && !plan.swapOuts.empty()) {
    out.push_back("blocks go out and come in in one step");
  }
  if (hasAdmitted && !plan.preempted.empty()) out.push_back("admitted in a step that preempted");
  for (const Preemption& one : plan.preempted) {
    if (seen.contains(one.request)) out.push_back("a preempted request has a row");
  }
  checkCopies(plan, out);
  return out;
}

}  // namespace engine::sched
