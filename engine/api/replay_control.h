// What a front end can do with a recorded run beyond Pause, Resume and StepOnce.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/base/ids.h"

namespace engine {

// What a recorded request asked, as its front end stated it.
struct RecordedPrompt {
  std::string label;
  std::string text;  // raw text, or the conversation's JSON; empty when it was given as token ids
  bool isConversation = false;
};

// All calls return at once and belong to the front-end thread. Times are those that
// the handle's events and snapshots tell: nanoseconds since the recording's first event.
class ReplayControl {
 public:
  virtual ~ReplayControl() = default;

  virtual std::int64_t beginNs() const = 0;
  virtual std::int64_t endNs() const = 0;
  virtual std::int64_t positionNs() const = 0;
  // Any time, forwards or backwards; clamped to the recording. Going back, the messages up to there
  // come anew, each RequestStarted meaning that its text begins again.
  virtual void seekNs(std::int64_t ns) = 0;

  virtual double speed() const = 0;  // recorded seconds a second
  // Above 0.
  virtual void setSpeed(double speed) = 0;

  // Nothing for a request that the recording does not open.
  virtual std::optional<RecordedPrompt> promptOf(RequestId id) const = 0;

  // Why the recording ends early; empty for a whole one.
  virtual const std::string& cutSentence() const = 0;
};

}  // namespace engine
