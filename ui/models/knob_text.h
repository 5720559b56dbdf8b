// Knobs' values in words, as the command line names them.
#pragma once

#include <QString>

#include "engine/api/trace_event.h"

namespace ui::models {

// `key` as in a Knob event: "policy" with 1 is "priority", "prefix-cache" with 0 is "off".
QString knobValueText(const char* key, double value);

// "max-seqs 64 → 8"
QString describeKnobChange(const engine::KnobRecord& knob);

}  // namespace ui::models
