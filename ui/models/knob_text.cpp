#include "ui/models/knob_text.h"

#include <string_view>

#include "ui/models/knob_list.h"
#include "ui/style/format.h"

namespace ui::models {

QString knobValueText(const char* key, double value) {
  const Knob* knob = findKnob(QLatin1String(key));
  if (knob && !knob->choices.isEmpty()) {
    const auto index = static_cast<qsizetype>(value);
    if (index >= 0 && index < knob->choices.size()) return knob->choices[index];
  }
  if (knob && knob->kind == KnobKind::Bytes) return style::formatBytes(static_cast<qint64>(value));
  return QString::number(value, 'g', 10);
}

QString describeKnobChange(const engine::KnobRecord& knob) {
  return QStringLiteral("%1 %2 → %3").arg(QString::fromLatin1(knob.key), knobValueText(knob.key, knob.oldValue),
                                          knobValueText(knob.key, knob.newValue));
}

}  // namespace ui::models
