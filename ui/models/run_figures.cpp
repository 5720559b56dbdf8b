#include "ui/models/run_figures.h"

#include <algorithm>

namespace ui::models {

namespace {

double toMs(std::int64_t ns) { return static_cast<double>(ns) / 1e6; }

}  // namespace

void RunFigures::touch(std::int64_t ns) {
  if (m_firstNs < 0) m_firstNs = ns;
  m_latestNs = std::max(m_latestNs, ns);
}

void RunFigures::add(const std::vector<engine::TraceEvent>& events) {
  for (const engine::TraceEvent& event : events) {
    if (event.kind == engine::TraceKind::Iteration) add(event.iteration);
    else if (event.kind == engine::TraceKind::Token) add(event.token);
    else if (event.kind == engine::TraceKind::Request) add(event.request);
  }
}

void RunFigures::markLoss() {
  for (auto& [id, progress] : m_progress) {
    progress.hasHole = true;
    progress.lastTokenNs = -1;
  }
}

void RunFigures::add(const engine::IterationRecord& record) {
  touch(record.t0Ns);
  touch(record.t1Ns);
  m_tokensIn.add(record.t1Ns, record.prefillTokens);
  m_tokensOut.closeUntil(record.t1Ns);
  m_running.add(record.t1Ns, record.running);
  m_waiting.add(record.t1Ns, record.waiting);
  if (m_poolBlocks > 0) {
    const double held = static_cast<double>(m_poolBlocks) - record.freeBlocks - record.cachedBlocks;
    m_kvUsed.add(record.t1Ns, 100 * std::clamp(held / static_cast<double>(m_poolBlocks), 0.0, 1.0));
  }
}

void RunFigures::add(const engine::TokenRecord& record) {
  touch(record.tNs);
  m_tokensOut.add(record.tNs, 1);
  Progress& progress = m_progress[record.request];
  if (progress.lastTokenNs >= 0) m_itl.add(record.tNs, toMs(record.tNs - progress.lastTokenNs));
  if (progress.firstTokenNs < 0) progress.firstTokenNs = record.tNs;
  progress.lastTokenNs = record.tNs;
  ++progress.numTokens;
}

void RunFigures::add(const engine::RequestRecord& record) {
  using engine::RequestEvent;
  touch(record.tNs);
  switch (record.event) {
    case RequestEvent::Arrived: m_progress[record.request].arrivalNs = record.tNs; break;
    case RequestEvent::FirstToken: {
      const auto found = m_progress.find(record.request);
      if (found == m_progress.end() || found->second.arrivalNs < 0) break;
      m_ttft.add(record.tNs, toMs(record.tNs - found->second.arrivalNs));
      break;
    }
    case RequestEvent::Finished:
    case RequestEvent::Cancelled:
    case RequestEvent::Refused: {
      const auto found = m_progress.find(record.request);
      if (found == m_progress.end()) break;
      const Progress& progress = found->second;
      const bool isWhole = progress.arrivalNs >= 0 && !progress.hasHole && progress.numTokens > 1;
      if (isWhole) {
        m_tpot.add(record.tNs, toMs(progress.lastTokenNs - progress.firstTokenNs) / static_cast<double>(progress.numTokens - 1));
      }
      m_progress.erase(found);
      break;
    }
    default: break;
  }
}

}  // namespace ui::models
