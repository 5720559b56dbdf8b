#include "engine/speculate/verifier.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/random.h"

namespace engine::speculate {

namespace {

// The run's tokens so far as part of history and mask, for the time of one draw.
class TriedTokens {
 public:
  TriedTokens(const RunContext& context, const DraftRun& run)
      : m_context(context), m_count(run.tokens.size()) {
    for (const SampledToken& token : run.tokens) {
      if (context.history != nullptr) context.history->append(token.id);
      if (context.mask != nullptr) context.mask->accept(token.id);
    }
  }

  TriedTokens(const TriedTokens&) = delete;
  TriedTokens& operator=(const TriedTokens&) = delete;

  ~TriedTokens() {
    if (m_context.history != nullptr) m_context.history->rollback(m_count);
    if (m_context.mask != nullptr) m_context.mask->rollback(m_count);
  }

 private:
  const RunContext& m_context;
  std::size_t m_count;
};

// The draw's u, turned so that the guess's share of the unit interval begins at 0: still uniform,
// and below p exactly when the guess was drawn.
float turned(double u, const sample::DrawShare& share, bool isAccepted) {
  const auto p = static_cast<float>(share.own);
  if (isAccepted) {
    const auto inside = static_cast<float>(std::max(0.0, u - share.before));
    return std::min(inside, std::nextafter(p, 0.0f));
  }
  return std::max(p, static_cast<float>(u < share.before ? share.own + u : u));
}

DraftVerdict judge(const sample::Sampler& sampler,
                   const sample::DrawRequest& draw,
                   TokenId draft,
                   TokenId drawn) {
  DraftVerdict verdict;
  verdict.id = draft;
  verdict.position = draw.position;
  verdict.isAccepted = draft == drawn;
  if (draw.params->temperature == 0.0f) {
    verdict.p = verdict.isAccepted ? 1.0f : 0.0f;
    return verdict;
  }
  const sample::DrawShare share = sampler.lastShareOf(draft);
  const double u = counterDraw(draw.params->seed, draw.sample,
                               static_cast<std::uint64_t>(draw.position), DrawStream::Sample);
  verdict.p = static_cast<float>(share.own);
  verdict.u = turned(u, share, verdict.isAccepted);
  return verdict;
}

double drawFor(const sample::DrawRequest& draw, DrawStream stream) {
  return counterDraw(draw.params->seed, draw.sample, static_cast<std::uint64_t>(draw.position),
                     stream);
}

// The draft with probability min(1, p / q), else a token of the normalised max(0, p - q).
Result<SampledToken> tryDrawn(sample::Sampler& sampler,
                              const sample::DrawRequest& draw,
                              TokenId draft,
                              const sample::Distribution& q,
                              DraftVerdict& verdict) {
  const sample::Distribution p = TRY(sampler.distribution(draw));
  verdict.id = draft;
  verdict.position = draw.position;
  verdict.p = p.of(draft);
  verdict.q = q.of(draft);
  verdict.u = std::min(static_cast<float>(drawFor(draw, DrawStream::Accept)),
                       std::nextafter(1.0f, 0.0f));
  verdict.isAccepted = verdict.u < verdict.p / verdict.q;
  if (verdict.isAccepted) return sampler.describe(draw, draft);
  return sampler.describe(draw, p.lessThat(q).draw(drawFor(draw, DrawStream::Residual)));
}

}  // namespace

std::size_t DraftRun::numAccepted() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(verdicts, [](const DraftVerdict& one) { return one.isAccepted; }));
}

Result<void> verifyNext(sample::Sampler& sampler,
                        const RunContext& context,
                        std::span<const float> logits,
                        DraftRun& run,
                        std::span<const sample::TileSummary> tiles) {
  CHECK(run.isOpen && run.tokens.size() <= run.drafts.size());
  const std::size_t index = run.tokens.size();
  sample::DrawRequest draw;
  draw.logits = logits;
  draw.tiles = tiles;
  draw.params = context.params;
  draw.history = context.history;
  draw.mask = context.mask;
  draw.sample = context.sample;
  draw.position = context.position + static_cast<std::int64_t>(index);
  draw.wantRowHash = context.wantRowHash;
  const TriedTokens tried(context, run);
  DraftVerdict verdict;
  const bool isDrawn = index < run.drafts.size() && index < run.drawnFrom.size();
  Result<SampledToken> drawn =
      isDrawn ? tryDrawn(sampler, draw, run.drafts[index], run.drawnFrom[index], verdict)
              : sampler.sample(draw);
  run.isOpen = false;
  if (!drawn) {
    if (index == 0) return drawn.error();
    return {};
  }
  if (index < run.drafts.size()) {
    run.verdicts.push_back(isDrawn ? verdict
                                   : judge(sampler, draw, run.drafts[index], drawn->id));
    run.isOpen = run.verdicts.back().isAccepted;
  }
  run.tokens.push_back(std::move(drawn).value());
  return {};
}

}  // namespace engine::speculate
