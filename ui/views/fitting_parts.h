// Figures in parts, "82 used · 1 cached": where they do not fit, whole parts are left out, never half a word.
#pragma once

#include <QFontMetrics>
#include <QString>

namespace ui::views {

// As many parts from the beginning as fit into `width` px; the first one ends in dots when it alone is too wide.
QString fittingParts(const QString& text, const QFontMetrics& metrics, int width);

}  // namespace ui::views
