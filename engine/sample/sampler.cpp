#include "engine/sample/sampler.h"

#include <xxhash.h>

#include "engine/base/random.h"
#include "engine/sample/column_tiles.h"
#include "engine/sample/logit_rules.h"

namespace engine::sample {

namespace {

bool changesLogits(const DrawRequest& request) {
  return request.mask != nullptr || !request.params->logitBias.empty() ||
         (request.history != nullptr && hasPenalties(*request.params));
}

std::vector<TokenLogprob> topLogprobs(std::span<const float> logits,
                                      const RowSummary& row,
                                      int count) {
  std::vector<TokenLogprob> top;
  if (count <= 0) return top;
  for (const Candidate& c : bestOfRow(logits, static_cast<std::size_t>(count))) {
    top.push_back({c.id, row.logprob(c.logit)});
  }
  return top;
}

Error nothingAllowed() {
  return {ErrorCode::InvalidArgument, "the grammar allows no token here"};
}

SampledToken described(const DrawRequest& request, const RowSummary& row, TokenId id) {
  SampledToken token;
  token.id = id;
  token.logprob = row.logprob(request.logits[static_cast<std::size_t>(id)]);
  if (request.wantRowHash) token.rowHash = rowHash(request.logits);
  token.top = topLogprobs(request.logits, row, request.params->topLogprobs);
  return token;
}

}  // namespace

std::uint64_t rowHash(std::span<const float> logits) {
  return XXH64(logits.data(), logits.size_bytes(), 0);
}

Result<SampledToken> Sampler::sample(const DrawRequest& request) {
  const RowSummary row = TRY(summarizeRow(request.logits));
  if (request.params->temperature == 0.0f && !changesLogits(request)) {
    return described(request, row, row.argmax);
  }
  if (!narrow(request)) return nothingAllowed();
  return described(request, row, choose(request));
}

Result<Distribution> Sampler::distribution(const DrawRequest& request) {
  TRY(summarizeRow(request.logits));
  if (!narrow(request)) return nothingAllowed();
  if (request.params->temperature == 0.0f) {
    return Distribution({TokenShare{argmaxOf(m_scratch), 1.0f}});
  }
  return Distribution(m_candidates.weights());
}

Result<SampledToken> Sampler::describe(const DrawRequest& request, TokenId id) const {
  return described(request, TRY(summarizeRow(request.logits)), id);
}

Result<std::vector<BeamCandidate>> Sampler::best(const DrawRequest& request, int count) {
  const RowSummary row = TRY(summarizeRow(request.logits));
  std::span<const float> logits = request.logits;
  double logSumExp = row.logSumExp;
  if (changesLogits(request)) {
    SamplingParams rulesAlone = *request.params;
    rulesAlone.temperature = 0.0f;  // filters and temperature leave such a row alone
    DrawRequest ruled = request;
    ruled.params = &rulesAlone;
    if (!narrow(ruled)) return nothingAllowed();
    logits = m_scratch;
    logSumExp = m_candidates.logSumExp();
  }
  std::vector<BeamCandidate> found;
  for (const Candidate& one : bestOfRow(logits, static_cast<std::size_t>(count))) {
    found.push_back({described(request, row, one.id), double{one.logit} - logSumExp});
  }
  return found;
}

Result<std::vector<Candidate>> Sampler::remaining(const DrawRequest& request) {
  TRY(summarizeRow(request.logits));
  if (!narrow(request)) return std::vector<Candidate>();
  return m_candidates.remaining();
}

bool Sampler::narrow(const DrawRequest& request) {
  m_scratch.assign(request.logits.begin(), request.logits.end());
  m_candidates.reset(m_scratch);
  for (const Stage stage : m_stages) {
    apply(stage, request);
    if (stage == Stage::Mask && request.mask != nullptr && argmaxOf(m_scratch) < 0) return false;
  }
  return true;
}

void Sampler::apply(Stage stage, const DrawRequest& request) {
  const SamplingParams& params = *request.params;
  const bool isGreedy = params.temperature == 0.0f;
  switch (stage) {
    case Stage::Mask:
      if (request.mask != nullptr) request.mask->apply(m_scratch);
      return;
    case Stage::LogitBias:
      return addLogitBias(params, m_scratch);
    case Stage::Penalties:
      if (request.history != nullptr && hasPenalties(params)) {
        applyPenalties(params, *request.history, m_scratch);
      }
      return;
    case Stage::Temperature:
      if (!isGreedy && params.temperature != 1.0f) m_candidates.divideBy(params.temperature);
      return;
    case Stage::MinP:
      if (!isGreedy && params.minP > 0.0f) m_candidates.keepMinP(params.minP);
      return;
    case Stage::TopK:
      if (!isGreedy && params.topK > 0) m_candidates.keepTopK(params.topK);
      return;
    case Stage::TypicalP:
      if (!isGreedy && params.typicalP < 1.0f) m_candidates.keepTypicalP(params.typicalP);
      return;
    case Stage::TopP:
      if (!isGreedy && params.topP < 1.0f) m_candidates.keepTopP(params.topP);
      return;
  }
}

TokenId Sampler::choose(const DrawRequest& request) {
  if (request.params->temperature == 0.0f) return argmaxOf(m_scratch);
  return m_candidates.draw(counterDraw(request.params->seed, request.sample,
                                       static_cast<std::uint64_t>(request.position),
                                       DrawStream::Sample));
}

}  // namespace engine::sample
