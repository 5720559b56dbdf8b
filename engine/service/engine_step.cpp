#include "engine/service/engine_step.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "engine/base/check.h"
#include "engine/sched/sched_invariants.h"
#include "engine/sched/sched_snapshot.h"
#include "engine/service/busy_share.h"

namespace engine::service {

namespace {

std::uint32_t clampedNs(std::int64_t ns) {
  return static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(ns, 0, std::numeric_limits<std::uint32_t>::max()));
}

// Ends in the service's last catch, which latches the failure.
void requireNone(const std::vector<std::string>& violations) {
  if (!violations.empty()) throw std::logic_error("broken invariant: " + violations.front());
}

}  // namespace

EngineStep::EngineStep(ModelSession& session,
                       StepGate& gate,
                       std::function<bool()> hasCommands,
                       bool checkInvariants)
    : m_session(session),
      m_gate(gate),
      m_hasCommands(std::move(hasCommands)),
      m_checkInvariants(checkInvariants),
      m_samplingThreads(static_cast<std::size_t>(std::max(session.executor().info().threads, 1))),
      m_drafts(session),
      m_beams(session),
      m_swapStore(session.executor()),
      m_plan(session.scheduler().lastPlan()) {}

StepOutcome EngineStep::run() {
  if (!plan()) return StepOutcome::NoWork;
  if (!reserve()) return StepOutcome::Interrupted;
  const Result<void> executed = execute();
  m_gate.close();
  m_session.tellWarnings();
  if (!executed) return abandon(executed.error());
  commit();
  publish();
  return StepOutcome::Committed;
}

bool EngineStep::plan() {
  const Clock& clock = m_session.channels().clock;
  m_t0Ns = clock.nowNs();
  propose();
  m_session.scheduler().plan(m_t0Ns);
  m_scheduleNs = clock.nowNs() - m_t0Ns;
  if (m_checkInvariants) requireNone(sched::findPlanViolations(m_plan, m_session.scheduler()));
  if (!m_plan.isEmpty()) return true;
  summarize();
  // who was preempted without anybody computing goes out all the same
  if (const auto moved = moveBlocks(); !moved) throw std::runtime_error(moved.error().message);
  // an end may come without a step: a batch whose last was cancelled, an SLO that is over
  m_ended = m_session.scheduler().commitStep({});
  for (const sched::FinishedRequest& ended : m_ended) m_session.close(ended);
  if (m_checkInvariants) requireNone(sched::findViolations(m_session.scheduler()));
  return false;
}

// A draft model computes before the step is planned: a cancel stops it like a step.
void EngineStep::propose() {
  if (m_session.draft() == nullptr) return m_drafts.propose(nullptr);
  std::vector<RequestId> requests;
  for (const sched::Sequence* sequence : m_session.scheduler().running()) {
    requests.push_back(m_session.find(sequence->spec.id)->root());
  }
  m_gate.open(std::move(requests));
  m_drafts.propose(&m_gate.flag());
  m_gate.close();
}

bool EngineStep::reserve() {
  m_rows.clear();
  m_sampledRows.clear();
  std::vector<RequestId> requests;
  for (std::size_t i = 0; i < m_plan.rows.size(); ++i) {
    const sched::PlanRow& row = m_plan.rows[i];
    const int numLogitRows = row.samples ? 1 + row.numDrafts : 0;
    m_rows.push_back({std::span(m_plan.tokens)
                          .subspan(static_cast<std::size_t>(row.firstToken),
                                   static_cast<std::size_t>(row.numTokens)),
                      row.firstPosition, row.blockTable, numLogitRows});
    m_sampledRows.insert(m_sampledRows.end(), static_cast<std::size_t>(numLogitRows), i);
    requests.push_back(m_session.find(row.request)->root());
  }
  m_outcomes.assign(m_plan.rows.size(), {});
  for (std::size_t i = 0; i < m_outcomes.size(); ++i) {
    speculate::DraftRun& run = m_outcomes[i].run;
    run.drafts = draftsOf(i);
    if (!run.drafts.empty()) run.drawnFrom = m_drafts.drawnFrom(m_plan.rows[i].request);
  }
  m_gate.open(std::move(requests));
  if (!m_hasCommands()) return true;
  // a command that came before the gate opened could not stop the step: look at it first
  m_gate.close();
  m_session.scheduler().abandonStep(sched::StepProgress::NotExecuted);
  return false;
}

Result<void> EngineStep::execute() {
  const Clock& clock = m_session.channels().clock;
  exec::Executor& executor = m_session.executor();
  m_sampleNs = 0;
  const std::int64_t beginNs = clock.nowNs();
  Result<void> executed = moveBlocks();
  if (executed) {
    expectLogits();
    const exec::LogitsSink sink(
        [this](int first, int count, const float* logits) { sample(first, count, logits); },
        [this](int row, int run, const float* columns, int numColumns) {
          m_rowTiles.add(static_cast<std::size_t>(row), static_cast<std::size_t>(run), columns,
                         static_cast<std::size_t>(numColumns));
        });
    executed = executor.execute(m_rows, &m_gate.flag(), sink);
  }
  m_executedNs = clock.nowNs();
  m_modelNs = m_executedNs - beginNs - m_sampleNs;
  m_opsCounters = executor.takeCounters();
  return executed;
}

// Out, in, copies: the order in which the plan counts on them.
Result<void> EngineStep::moveBlocks() {
  TRY_VOID(m_swapStore.copyOut(m_plan.swapOuts));
  m_swapStore.copyIn(m_plan.swapIns);
  std::vector<kernels::BlockCopy> copies;
  for (const kv::BlockCopy& copy : m_plan.copies) {
    copies.push_back({copy.from.value, copy.to.value});
  }
  if (!copies.empty()) m_session.executor().copyBlocks(copies);
  return {};
}

void EngineStep::expectLogits() {
  static_assert(kernels::kLogitsRun == sample::kColumnTile);
  const exec::Executor& executor = m_session.executor();
  m_rowTiles.reset(std::min(m_sampledRows.size(), static_cast<std::size_t>(executor.maxLogitRows())),
                   static_cast<std::size_t>(executor.vocabSize()));
}

// The rows of one sequence follow each other and stay with one thread; sequences know nothing of
// each other, so that it makes no difference which one.
void EngineStep::sample(int first, int count, const float* logits) {
  const Clock& clock = m_session.channels().clock;
  const std::int64_t beginNs = clock.nowNs();
  const auto vocabSize = static_cast<std::size_t>(m_session.executor().vocabSize());
  const auto planRow = [&](int i) { return m_sampledRows[static_cast<std::size_t>(first + i)]; };
  m_firstRows.clear();
  for (int i = 0; i < count; ++i) {
    if (i == 0 || planRow(i) != planRow(i - 1)) m_firstRows.push_back(i);
  }
  const int numSequences = static_cast<int>(m_firstRows.size());
  m_firstRows.push_back(count);
  m_session.executor().shareOut(numSequences, [&](int sequence, int thread) {
    SamplingThread& mine = m_samplingThreads[static_cast<std::size_t>(thread)];
    try {
      const auto at = static_cast<std::size_t>(sequence);
      for (int i = m_firstRows[at]; i < m_firstRows[at + 1]; ++i) {
        const auto row = static_cast<std::size_t>(i);
        sampleRow(planRow(i),
                  {std::span(logits + row * vocabSize, vocabSize), m_rowTiles.of(row)},
                  mine.sampler);
      }
    } catch (...) {
      mine.fault = std::current_exception();
    }
  });
  for (SamplingThread& thread : m_samplingThreads) {
    if (thread.fault) std::rethrow_exception(std::exchange(thread.fault, nullptr));
  }
  expectLogits();
  m_sampleNs += clock.nowNs() - beginNs;
}

std::span<const TokenId> EngineStep::draftsOf(std::size_t row) const {
  const sched::PlanRow& planned = m_plan.rows[row];
  return std::span(m_plan.tokens)
      .subspan(static_cast<std::size_t>(planned.firstToken + planned.numTokens - planned.numDrafts),
               static_cast<std::size_t>(planned.numDrafts));
}

// A row has 1 + numDrafts rows of logits: those behind the first draft that falls are not needed.
void EngineStep::sampleRow(std::size_t row, const LogitsRow& logits, sample::Sampler& sampler) {
  RowOutcome& outcome = m_outcomes[row];
  if (!outcome.run.isOpen) return;
  const sched::PlanRow& planned = m_plan.rows[row];
  ServedRequest* served = m_session.find(planned.request);
  CHECK(served != nullptr);
  if (served->isBeam()) return sampleBeam(row, logits, sampler);
  const speculate::RunContext context = contextOf(*served, planned);
  const Result<void> verified =
      speculate::verifyNext(sampler, context, logits.logits, outcome.run, logits.tiles);
  if (!verified) {
    outcome.failure = verified.error();
    outcome.finish = FinishReason::Failed;
  } else if (served->group != nullptr && !served->group->hasBranched) {
    sampleOthers(row, logits, sampler);
  }
}

speculate::RunContext EngineStep::contextOf(ServedRequest& served,
                                            const sched::PlanRow& row) const {
  speculate::RunContext context;
  context.params = &served.spec.sampling;
  context.history = &served.history;
  context.sample = static_cast<std::uint64_t>(served.choice);
  context.position = row.kvLength() - row.numDrafts;
  context.wantRowHash = served.spec.wantRowHashes;
  return context;
}

// The request's other samples begin with the same row: the prompt is computed once.
void EngineStep::sampleOthers(std::size_t row, const LogitsRow& logits, sample::Sampler& sampler) {
  RowOutcome& outcome = m_outcomes[row];
  ServedRequest& served = *m_session.find(m_plan.rows[row].request);
  for (int i = 1; i < served.group->numSamples; ++i) {
    speculate::RunContext context = contextOf(served, m_plan.rows[row]);
    context.sample = static_cast<std::uint64_t>(i);
    speculate::DraftRun run;
    // the row gave the first sample its token, so it gives one to each
    CHECK(speculate::verifyNext(sampler, context, logits.logits, run, logits.tiles).isOk());
    outcome.firstOfOthers.push_back(std::move(run.tokens.front()));
  }
}

void EngineStep::sampleBeam(std::size_t row, const LogitsRow& logits, sample::Sampler& sampler) {
  RowOutcome& outcome = m_outcomes[row];
  ServedRequest& served = *m_session.find(m_plan.rows[row].request);
  sample::DrawRequest draw;
  draw.logits = logits.logits;
  draw.tiles = logits.tiles;
  draw.params = &served.spec.sampling;
  draw.history = &served.history;
  draw.position = m_plan.rows[row].kvLength();
  draw.wantRowHash = served.spec.wantRowHashes;
  auto candidates = sampler.best(draw, served.group->search->numCandidates());
  outcome.run.isOpen = false;
  outcome.holds = candidates.isOk();
  if (candidates) {
    outcome.candidates = std::move(candidates).value();
  } else {
    outcome.failure = candidates.error();
    outcome.finish = FinishReason::Failed;
  }
}

void EngineStep::commit() {
  const Clock& clock = m_session.channels().clock;
  const std::int64_t beginNs = clock.nowNs();
  m_results.clear();
  for (std::size_t row = 0; row < m_outcomes.size(); ++row) {
    RowOutcome& outcome = m_outcomes[row];
    branchOff(row);  // from what the first sample was before its token
    feedText(row);
    if (outcome.failure) m_session.find(m_plan.rows[row].request)->failure = outcome.failure;
    m_results.push_back({outcome.ids, outcome.finish, outcome.planned, outcome.holds});
  }
  const std::int64_t textNs = clock.nowNs() - beginNs;
  m_ended = m_session.scheduler().commitStep(m_results);
  m_t1Ns = clock.nowNs();
  m_sampleNs += textNs;
  m_scheduleNs += m_t1Ns - beginNs - textNs;
}

// Takes the run's tokens as far as the first that ends the request; those behind it never were.
void EngineStep::feedText(std::size_t row) {
  RowOutcome& outcome = m_outcomes[row];
  ServedRequest& served = *m_session.find(m_plan.rows[row].request);
  for (const SampledToken& token : outcome.run.tokens) {
    if (outcome.finish != FinishReason::None) return;
    served.history.append(token.id);
    served.cumulativeLogprob += token.logprob;
    OutputText::Piece piece = served.output.feed(token.id);
    outcome.ids.push_back(token.id);
    outcome.text += piece.text;
    if (piece.isStop) outcome.finish = FinishReason::Stop;
  }
}

void EngineStep::branchOff(std::size_t row) {
  RowOutcome& outcome = m_outcomes[row];
  int choice = 0;
  for (SampledToken& token : outcome.firstOfOthers) {
    const RequestId id = m_session.addBranch(m_plan.rows[row].request, ++choice);
    ServedRequest& child = *m_session.find(id);
    child.history.append(token.id);
    child.cumulativeLogprob = token.logprob;
    OutputText::Piece piece = child.output.feed(token.id);
    outcome.planned.push_back(
        {id, token.id, piece.isStop ? FinishReason::Stop : FinishReason::None});
    outcome.branches.push_back({id, std::move(token), std::move(piece.text)});
  }
}

// A beam's row counts as the one token that comes of it.
std::int64_t EngineStep::numNewTokens() const {
  std::int64_t sum = 0;
  for (const RowOutcome& outcome : m_outcomes) {
    sum += std::ssize(outcome.ids) + std::ssize(outcome.branches) + (outcome.holds ? 1 : 0);
  }
  return sum;
}

void EngineStep::publish() {
  publishEntries();
  for (std::size_t row = 0; row < m_plan.rows.size(); ++row) publishRow(row);
  for (const sched::FinishedRequest& ended : m_ended) m_session.close(ended);
  for (std::size_t row = 0; row < m_outcomes.size(); ++row) {
    if (m_outcomes[row].holds) {
      m_beams.keep(m_plan.rows[row].request, std::move(m_outcomes[row].candidates));
    }
  }
  m_beams.advance(m_t1Ns);
  m_drafts.recordStep(m_plan, numNewTokens(), m_t1Ns - m_t0Ns);
  m_decodeRate.add(m_t1Ns, numNewTokens());
  m_prefillRate.add(m_t1Ns, m_plan.prefillTokens);
  publishIteration();
  summarize();
  if (m_checkInvariants) requireNone(sched::findViolations(m_session.scheduler()));
}

void EngineStep::publishEntries() {
  for (const sched::Preemption& p : m_plan.preempted) {
    m_session.record(p.request, RequestEvent::Preempted, p.reason, p.a, p.b);
  }
  for (const sched::PlanRow& row : m_plan.rows) {
    if (row.entry == sched::RowEntry::Continues) continue;
    const bool isFirst = row.entry == sched::RowEntry::Admitted;
    if (isFirst) m_session.find(row.request)->times.admittedNs = m_t0Ns;
    m_session.channels().recorder.record(
        RequestRecord{row.request.value, m_t0Ns, row.cachedTokens, row.numTokens,
                      isFirst ? RequestEvent::Admitted : RequestEvent::Resumed, row.reason});
  }
}

void EngineStep::publishRow(std::size_t index) {
  const sched::PlanRow& row = m_plan.rows[index];
  RowOutcome& outcome = m_outcomes[index];
  const SessionChannels& channels = m_session.channels();
  m_drafts.recordRow(row, outcome.run, outcome.ids.size());
  channels.recorder.record(SliceRecord{
      m_plan.id.value, row.request.value, static_cast<std::uint32_t>(row.numTokens),
      static_cast<std::uint32_t>(row.kvLength()), static_cast<std::uint16_t>(row.numDrafts),
      static_cast<std::uint16_t>(outcome.run.numAccepted()), row.phase});
  if (outcome.holds) {
    noteTokens(row.request, 1);
    settleTold(row.request);
  }
  if (outcome.ids.empty()) return;
  noteTokens(row.request, std::ssize(outcome.ids));
  for (std::size_t i = 0; i < outcome.ids.size(); ++i) publishToken(row, outcome.run, i);
  outcome.run.tokens.resize(outcome.ids.size());
  m_session.tell(*m_session.find(row.request), std::move(outcome.text),
                 std::move(outcome.run.tokens), m_t1Ns);
  settleTold(row.request);
  for (BranchOutcome& branch : outcome.branches) publishBranch(index, branch);
}

// Static and dynamic batching: nobody hears of it before its batch has ended.
void EngineStep::settleTold(RequestId id) {
  if (!m_plan.holdsResults) m_session.deliver(id, *m_session.find(id), m_t1Ns);
}

void EngineStep::noteTokens(RequestId id, std::int64_t count) {
  ServedRequest& served = *m_session.find(id);
  served.hasUntold = true;
  if (served.times.prefilledNs < 0) {
    served.times.prefilledNs = m_executedNs;
    m_session.channels().recorder.record(
        RequestRecord{id.value, m_executedNs, 0, 0, RequestEvent::Prefilled, Reason::None});
  }
  if (!served.isBeam()) served.rate.add(m_t1Ns, count);
}

void EngineStep::publishBranch(std::size_t row, BranchOutcome& branch) {
  ServedRequest& served = *m_session.find(branch.id);
  trace::TraceRecorder& recorder = m_session.channels().recorder;
  const auto position = static_cast<std::int32_t>(m_plan.rows[row].kvLength());
  recorder.record(BranchRecord{branch.id.value, served.parent.value, m_t1Ns,
                               served.cumulativeLogprob, position, branch.token.id,
                               BranchOp::Fork});
  noteTokens(branch.id, 1);
  recorder.record(TokenRecord{branch.id.value, m_t1Ns, branch.token.id, position,
                              branch.token.logprob, TokenSource::Target});
  std::vector<SampledToken> tokens;
  tokens.push_back(std::move(branch.token));
  m_session.tell(served, std::move(branch.text), std::move(tokens), m_t1Ns);
  settleTold(branch.id);
}

void EngineStep::publishToken(const sched::PlanRow& row,
                              const speculate::DraftRun& run,
                              std::size_t index) {
  const bool isDraft = index < run.numAccepted();
  const bool isBonus = !isDraft && row.numDrafts > 0 && run.numAccepted() == run.drafts.size();
  const SampledToken& token = run.tokens[index];
  const std::int64_t position = row.kvLength() - row.numDrafts + static_cast<std::int64_t>(index);
  m_session.channels().recorder.record(TokenRecord{
      row.request.value, m_t1Ns, token.id, static_cast<std::int32_t>(position), token.logprob,
      isDraft   ? TokenSource::Draft
      : isBonus ? TokenSource::Bonus
                : TokenSource::Target});
}

accounting::StepCost EngineStep::costOfPlan() const {
  std::vector<accounting::RowCost> rows;
  for (const sched::PlanRow& row : m_plan.rows) {
    rows.push_back({row.numTokens, row.kvLength(), row.samples ? 1 + row.numDrafts : 0});
  }
  return accounting::stepCost(m_session.model().shape, rows);
}

void EngineStep::publishIteration() {
  const kv::BlockPool& pool = m_session.cache().pool();
  IterationRecord record{};
  record.id = m_plan.id.value;
  record.t0Ns = m_t0Ns;
  record.t1Ns = m_t1Ns;
  record.scheduleNs = clampedNs(m_scheduleNs);
  record.modelNs = clampedNs(m_modelNs);
  record.sampleNs = clampedNs(m_sampleNs);
  record.prefillTokens = static_cast<std::uint32_t>(m_plan.prefillTokens);
  record.decodeTokens = static_cast<std::uint32_t>(m_plan.decodeTokens);
  record.draftTokens = static_cast<std::uint32_t>(m_plan.draftTokens);
  record.running = static_cast<std::uint32_t>(m_plan.running);
  record.waiting = static_cast<std::uint32_t>(m_plan.waiting);
  record.freeBlocks = static_cast<std::uint32_t>(pool.numFree());
  record.cachedBlocks = static_cast<std::uint32_t>(pool.numCached());
  const accounting::StepCost cost = costOfPlan();
  record.flops = cost.flops;
  record.bytes = cost.bytes;
  record.budget = static_cast<std::uint32_t>(m_plan.budget);
  record.linearOps = m_opsCounters.linearOps;
  record.linearNs = clampedNs(static_cast<std::int64_t>(m_opsCounters.linearNs));
  record.attentionNs = clampedNs(static_cast<std::int64_t>(m_opsCounters.attentionNs));
  record.limit = m_plan.limit;
  record.busyShare = busyShare(m_opsCounters, static_cast<int>(std::ssize(m_samplingThreads)),
                               m_t1Ns - m_t0Ns);
  m_session.channels().recorder.record(record);
}

void EngineStep::summarize() {
  m_summary = sched::summariseStep(m_plan);
  m_summary.t0Ns = m_t0Ns;
  m_summary.t1Ns = m_plan.isEmpty() ? m_t0Ns : m_t1Ns;
}

StepOutcome EngineStep::abandon(const Error& error) {
  m_session.scheduler().abandonStep(sched::StepProgress::MayHaveWritten);
  for (const sched::Preemption& p : m_plan.preempted) {  // what was swapped out is recomputed too
    m_session.record(p.request, RequestEvent::Preempted, Reason::PreemptedForBlocks,
                     p.blocksReturned, p.blocksNeeded);
  }
  if (error.code == ErrorCode::Cancelled) return StepOutcome::Interrupted;
  // the step does not say whose row was the cause: the newest gives way, the others are planned
  // again
  m_error = error;
  m_session.fail(m_plan.rows.back().request, error);
  return StepOutcome::Failed;
}

}  // namespace engine::service
