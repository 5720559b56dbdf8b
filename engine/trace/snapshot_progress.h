// Carries a recorded snapshot on by the events that came after it, up to the next recorded one.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "engine/api/snapshot.h"
#include "engine/trace/trace_record.h"

namespace engine::trace {

// One thread.
class SnapshotProgress {
 public:
  // Starts again from a recorded state.
  void reset(EngineSnapshot snapshot);
  // What a request was called; for requests that no recorded state names yet.
  void open(const RequestOpening& opening);
  void apply(const TraceEvent& event);

  const EngineSnapshot& snapshot() const { return m_snapshot; }

 private:
  void on(const IterationRecord& record);
  void on(const SliceRecord& record);
  void on(const BlockRecord& record);
  void on(const TokenRecord& record);
  void on(const RequestRecord& record);
  void on(const BranchRecord& record);
  RequestSnapshot* find(std::uint64_t request);
  void arrive(const RequestRecord& record);
  void setBack(RequestSnapshot& request, const RequestRecord& record);
  void end(RequestSnapshot& request, const RequestRecord& record);

  EngineSnapshot m_snapshot;
  std::vector<Decision> m_decisions;  // of the step whose record is still to come
  std::unordered_map<RequestId, RequestOpening> m_openings;
};

}  // namespace engine::trace
