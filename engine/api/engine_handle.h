// The one door between an engine and a front end. A live engine, a replayed trace and a remote engine
// implement it alike; capabilities() says what each can do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/api/command.h"
#include "engine/api/message.h"
#include "engine/api/replay_control.h"
#include "engine/api/snapshot.h"
#include "engine/api/trace_event.h"

namespace engine {

struct EngineCapabilities {
  bool canLoad = false;
  bool canSubmit = false;
  bool canPause = false;
  bool hasLiveKnobs = false;
  bool hasBlocks = false;
  bool hasEvents = false;
};

// All calls return at once and belong to one front-end thread.
class EngineHandle {
 public:
  virtual ~EngineHandle() = default;

  virtual EngineCapabilities capabilities() const = 0;
  virtual void submit(Command command) = 0;
  // Appends what came since the last call, in order, without loss.
  virtual void drainMessages(std::vector<EngineMessage>& out) = 0;
  // Appends trace events; what the ring had to drop shows in numLostEvents().
  virtual void drainEvents(std::vector<TraceEvent>& out) = 0;
  virtual std::uint64_t numLostEvents() const = 0;
  // Null before the first publication.
  virtual std::shared_ptr<const EngineSnapshot> latestSnapshot() const = 0;
  // The engine clock's now, for "so long ago" in views.
  virtual std::int64_t nowNs() const = 0;
  // Null unless this plays a recorded run.
  virtual ReplayControl* replayControl() { return nullptr; }
};

}  // namespace engine
