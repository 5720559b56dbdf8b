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

std::vector<TokenLogprob> topLogprobs(const DrawRequest& request, const RowSummary& row) {
  std::vector<TokenLogprob> top;
  const int count = request.params->topLogprobs;
  if (count <= 0) return top;
  for (const Candidate& c :
       bestOfRow(request.logits, static_cast<std::size_t>(count), request.tiles)) {
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
  token.top = topLogprobs(request, row);
  return token;
}

}  // namespace

std::uint64_t rowHash(std::span<const float> logits) {
  return XXH64(logits.data(), logits.size_bytes(), 0);
}

Result<SampledToken> Sampler::sample(const DrawRequest& request) {
  const RowSummary row = TRY(summarizeRow(request.logits, request.tiles));
  if (request.params->temperature == 0.0f && !changesLogits(request)) {
    return described(request, row, row.argmax);
  }
  if (!narrow(request)) return nothingAllowed();
  return described(request, row, choose(request));
}

Result<Distribution> Sampler::distribution(const DrawRequest& request) {
  TRY(summarizeRow(request.logits, request.tiles));
  if (!narrow(request)) return nothingAllowed();
  if (request.params->temperature == 0.0f) {
    return Distribution({TokenShare{choose(request), 1.0f}});
  }
  return Distribution(m_candidates.weights());
}

Result<SampledToken> Sampler::describe(const DrawRequest& request, TokenId id) const {
  return described(request, TRY(summarizeRow(request.logits, request.tiles)), id);
}

Result<std::vector<BeamCandidate>> Sampler::best(const DrawRequest& request, int count) {
  const RowSummary row = TRY(summarizeRow(request.logits, request.tiles));
  std::span<const float> logits = request.logits;
  std::span<const TileSummary> tiles = request.tiles;
  double logSumExp = row.logSumExp;
  if (changesLogits(request)) {
    SamplingParams rulesAlone = *request.params;
    rulesAlone.temperature = 0.0f;  // filters and temperature leave such a row alone
    DrawRequest ruled = request;
    ruled.params = &rulesAlone;
    if (!narrow(ruled)) return nothingAllowed();
    logits = m_scratch;
    tiles = {};
    logSumExp = m_candidates.logSumExp();
  }
  std::vector<BeamCandidate> found;
  for (const Candidate& one : bestOfRow(logits, static_cast<std::size_t>(count), tiles)) {
    found.push_back({described(request, row, one.id), double{one.logit} - logSumExp});
  }
  return found;
}

Result<std::vector<Candidate>> Sampler::remaining(const DrawRequest& request) {
  TRY(summarizeRow(request.logits, request.tiles));
  if (!narrow(request)) return std::vector<Candidate>();
  return m_candidates.remaining();
}

bool Sampler::narrow(const DrawRequest& request) {
  if (!changesLogits(request)) {
    m_candidates.reset(request.logits, request.tiles);
  } else {
    if (!changeLogits(request)) return false;
    m_candidates.reset(m_scratch);
  }
  for (const Stage stage : m_stages) filter(stage, *request.params);
  return true;
}

// The stages that act on the whole row stand before all others in every order.
bool Sampler::changeLogits(const DrawRequest& request) {
  m_scratch.assign(request.logits.begin(), request.logits.end());
  for (const Stage stage : m_stages) {
    if (stage == Stage::Mask && request.mask != nullptr) {
      request.mask->apply(m_scratch);
      if (argmaxOf(m_scratch) < 0) return false;
    }
    if (stage == Stage::LogitBias) addLogitBias(*request.params, m_scratch);
    if (stage == Stage::Penalties && request.history != nullptr) {
      if (hasPenalties(*request.params))
        applyPenalties(*request.params, *request.history, m_scratch);
    }
  }
  return true;
}

// Greedy takes the largest logit whatever the filters say.
void Sampler::filter(Stage stage, const SamplingParams& params) {
  if (params.temperature == 0.0f) return;
  switch (stage) {
    case Stage::Mask:
    case Stage::LogitBias:
    case Stage::Penalties:
      return;
    case Stage::Temperature:
      if (params.temperature != 1.0f) m_candidates.divideBy(params.temperature);
      return;
    case Stage::MinP:
      if (params.minP > 0.0f) m_candidates.keepMinP(params.minP);
      return;
    case Stage::TopK:
      if (params.topK > 0) m_candidates.keepTopK(params.topK);
      return;
    case Stage::TypicalP:
      if (params.typicalP < 1.0f) m_candidates.keepTypicalP(params.typicalP);
      return;
    case Stage::TopP:
      if (params.topP < 1.0f) m_candidates.keepTopP(params.topP);
      return;
  }
}

TokenId Sampler::choose(const DrawRequest& request) {
  if (request.params->temperature == 0.0f) {
    return argmaxOf(changesLogits(request) ? std::span<const float>(m_scratch) : request.logits);
  }
  return m_candidates.draw(counterDraw(request.params->seed, request.sample,
                                       static_cast<std::uint64_t>(request.position),
                                       DrawStream::Sample));
}

}  // namespace engine::sample
