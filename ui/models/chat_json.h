// Chat settings and answer figures as JSON text, for the store.
#pragma once

#include <QString>

#include "ui/models/chat_record.h"

namespace ui::models {

QString settingsToJson(const ChatSettings& settings);
// Unknown keys are ignored; a missing or malformed one keeps its default.
ChatSettings settingsFromJson(const QString& json);

// One sentence when `json` is neither empty nor a JSON list of tools with names; else empty.
QString whatIsWrongWithTools(const QString& json);

QString statsToJson(const AnswerStats& stats);
AnswerStats statsFromJson(const QString& json);

// "T 0.7 · top-p 0.9 · seed 42": what differs from "off", in the sampler's order.
QString samplingText(const engine::SamplingParams& sampling);
// The same for a chat; a seed that every answer draws anew is not named.
QString samplingText(const ChatSettings& settings);

}  // namespace ui::models
