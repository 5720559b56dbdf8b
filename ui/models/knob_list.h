// Every engine knob of the command line, by the same name: what it acts on, when it acts, how it reads.
#pragma once

#include <QString>
#include <QStringList>
#include <functional>
#include <vector>

#include "engine/api/engine_config.h"

namespace ui::models {

enum class KnobKind { Whole, Number, Bytes, Choice, Switch, Path };

struct Knob {
  QString name;    // the flag's, without dashes
  QString actsOn;  // what is felt when it is turned
  bool isLive;     // acts from the next step; else needs a reload
  KnobKind kind;
  QStringList choices;  // of Choice and Switch, in the order of Knob events
  // As the command line would take it.
  std::function<QString(const engine::EngineConfig&)> text;
  // False for what is no such value at all; ranges are checkKnobs' business.
  std::function<bool(engine::EngineConfig&, const QString&)> take;
};

// In the order of COMMANDS.md, live ones first.
const std::vector<Knob>& allKnobs();
// Null when unknown.
const Knob* findKnob(QLatin1String name);

// Puts a value in, as typed; one sentence when it is no such value or out of range, the same as the
// command line's without its dashes. `config` is changed only when all is well.
QString turnKnob(const Knob& knob, const QString& value, engine::EngineConfig& config);

}  // namespace ui::models
