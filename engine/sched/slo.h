// Pure rules of the slo policy: when a request must have its next token, and when it no longer can.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/api/reason.h"
#include "engine/api/request.h"

namespace engine::sched {

// What holds for a request that asks for nothing, or for very little: nobody waits behind others
// for ever, because who came that much later stands behind it.
inline constexpr std::int64_t kPatienceNs = 10'000'000'000;
inline constexpr std::int64_t kTokenPatienceNs = 1'000'000'000;

struct SloFacts {
  SloTarget slo;
  std::int64_t arrivalNs = 0;
  std::int64_t firstTokenNs = -1, lastTokenNs = -1;
  std::int64_t outputs = 0;  // tokens it has
};

inline std::int64_t patienceNs(double ms, std::int64_t most) {
  return std::min(most, static_cast<std::int64_t>(std::min(ms * 1e6, 1e15)));
}

// Of the first token, or of the next: TPOT is a mean, so who is ahead may wait.
inline std::int64_t deadlineNs(const SloFacts& facts) {
  if (facts.outputs == 0) {
    const auto& ttft = facts.slo.ttftMs;
    return facts.arrivalNs + (ttft ? patienceNs(*ttft, kPatienceNs) : kPatienceNs);
  }
  const std::int64_t latest = facts.lastTokenNs + kTokenPatienceNs;
  if (!facts.slo.tpotMs) return latest;
  const std::int64_t each = patienceNs(*facts.slo.tpotMs, kPatienceNs);
  return std::min(latest, facts.firstTokenNs + each * facts.outputs);
}

// How fast the engine was at its best, from committed steps; 0 = not known.
class PaceMeter {
 public:
  // A step of prefillTokens and decodeTokens that took ns.
  void record(std::int64_t ns, std::int64_t prefillTokens, std::int64_t decodeTokens) {
    if (ns <= 0) return;
    if (prefillTokens >= kTellingTokens) {
      lower(m_prefillNs, ns / (prefillTokens + decodeTokens), m_prefillSteps);
    } else if (prefillTokens == 0 && decodeTokens > 0) {
      lower(m_decodeNs, ns, m_decodeSteps);
    }
  }

  std::int64_t nsPerPromptToken() const { return m_prefillSteps < kSteps ? 0 : m_prefillNs; }

  std::int64_t nsPerDecodeStep() const { return m_decodeSteps < kSteps ? 0 : m_decodeNs; }

 private:
  static constexpr std::int64_t kTellingTokens = 64;  // fewer say nothing about the price of one
  static constexpr int kSteps = 8;                    // the first ones are slow

  static void lower(std::int64_t& best, std::int64_t ns, int& steps) {
    best = steps++ == 0 ? ns : std::min(best, ns);
  }

  std::int64_t m_prefillNs = 0, m_decodeNs = 0;
  int m_prefillSteps = 0, m_decodeSteps = 0;
};

// Why a request that has no token yet cannot keep its SLO even if it began now and had the engine
// at its best; Reason::None when it may. pendingTokens: to be computed before its first.
struct SloVerdict {
  Reason reason = Reason::None;
  std::int64_t needUs = 0, askedUs = 0;
};

inline SloVerdict judgeSlo(const SloFacts& facts,
                           std::int64_t nowNs,
                           std::int64_t pendingTokens,
                           const PaceMeter& pace) {
  constexpr std::int64_t kNsPerUs = 1000;
  if (facts.outputs > 0) return {};
  const auto askedNs = [](double ms) { return patienceNs(ms, INT64_MAX); };
  if (facts.slo.ttftMs) {
    const std::int64_t need = nowNs - facts.arrivalNs + pendingTokens * pace.nsPerPromptToken();
    const std::int64_t asked = askedNs(*facts.slo.ttftMs);
    if (need > asked) return {Reason::RefusedTtft, need / kNsPerUs, asked / kNsPerUs};
  }
  if (facts.slo.tpotMs) {
    const std::int64_t asked = askedNs(*facts.slo.tpotMs);
    if (pace.nsPerDecodeStep() > asked) {
      return {Reason::RefusedTpot, pace.nsPerDecodeStep() / kNsPerUs, asked / kNsPerUs};
    }
  }
  return {};
}

}  // namespace engine::sched
