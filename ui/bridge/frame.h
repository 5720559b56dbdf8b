// All that came from the engine since the last look at it: the one value every view draws from.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/api/message.h"
#include "engine/api/snapshot.h"
#include "engine/api/trace_event.h"

namespace ui::bridge {

struct Frame {
  std::uint64_t index = 0;  // counts frames since the bridge began
  std::int64_t nowNs = 0;   // the engine's clock when the frame was made

  // Null before the engine's first publication. Stands still while the view is paused.
  std::shared_ptr<const engine::EngineSnapshot> snapshot;
  // The newest one, also while the view is paused (transport controls, chat progress, status bar).
  std::shared_ptr<const engine::EngineSnapshot> liveSnapshot;
  bool isSnapshotNew = false;  // `snapshot` differs from the last frame's
  bool hasRestarted = false;   // time went back, or another engine is looked at: what was drawn is void
  bool isViewPaused = false;   // record events, but do not move what is drawn

  std::vector<engine::EngineMessage> messages;  // without loss
  std::vector<engine::TraceEvent> events;
  std::uint64_t lostEvents = 0;       // since the bridge began
  std::uint64_t newlyLostEvents = 0;  // before the first of `events`
};

}  // namespace ui::bridge
