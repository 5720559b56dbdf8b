// What a run is judged by: throughput, queue, memory and waiting times, taken from trace events alone.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "engine/api/trace_event.h"
#include "ui/models/latency_samples.h"
#include "ui/models/series.h"

namespace ui::models {

// Ui thread only.
class RunFigures {
 public:
  void add(const std::vector<engine::TraceEvent>& events);
  // Events before the next ones were lost: no time between tokens is taken across the hole.
  void markLoss();
  // Of the pool whose iterations come next; 0 = unknown, the share of memory is then not recorded.
  void setPoolBlocks(std::int64_t numBlocks) { m_poolBlocks = numBlocks; }

  const RateSeries& tokensIn() const { return m_tokensIn; }    // prompt tokens computed, per second
  const RateSeries& tokensOut() const { return m_tokensOut; }  // tokens sampled, per second
  const Series& running() const { return m_running; }
  const Series& waiting() const { return m_waiting; }
  const Series& kvUsed() const { return m_kvUsed; }  // share of blocks with a holder, 0..100
  const LatencySamples& timeToFirstToken() const { return m_ttft; }
  const LatencySamples& timeBetweenTokens() const { return m_itl; }
  const LatencySamples& timePerOutputToken() const { return m_tpot; }  // one mean a finished request
  std::int64_t firstNs() const { return m_firstNs; }
  std::int64_t latestNs() const { return m_latestNs; }
  bool isEmpty() const { return m_firstNs < 0; }

 private:
  struct Progress {
    std::int64_t arrivalNs = -1, firstTokenNs = -1, lastTokenNs = -1;
    std::int64_t numTokens = 0;
    bool hasHole = false;  // events of it were lost
  };

  void add(const engine::IterationRecord& record);
  void add(const engine::TokenRecord& record);
  void add(const engine::RequestRecord& record);
  void touch(std::int64_t ns);

  RateSeries m_tokensIn, m_tokensOut;
  Series m_running, m_waiting, m_kvUsed;
  LatencySamples m_ttft, m_itl, m_tpot;
  std::unordered_map<std::uint64_t, Progress> m_progress;
  std::int64_t m_poolBlocks = 0, m_firstNs = -1, m_latestNs = 0;
};

}  // namespace ui::models
