// "Why this batch?" as a few lines of text, from a step's decisions.
#pragma once

#include <QString>
#include <vector>

#include "engine/api/snapshot.h"

namespace ui::models {

enum class ExplanationKind : std::uint8_t { Decode, Verify, Prefill, Waits, Preempted, Stopped };

struct ExplanationLine {
  ExplanationKind kind = ExplanationKind::Decode;
  QString text;
  engine::RequestId request;  // none for a line about several
};

// Decoding requests share one line; everything else has its own. At most `maxLines`, the last of
// which then says how many more there are.
std::vector<ExplanationLine> explainStep(const engine::EngineSnapshot& snapshot, int maxLines);

// The word in front of a line: "decode", "waits".
QString kindName(ExplanationKind kind);

}  // namespace ui::models
