// Colours for code in a closed fence: keywords, strings, comments and numbers of common languages.
#pragma once

#include <QString>
#include <QTextLayout>
#include <QVector>

#include "ui/style/palette.h"

namespace ui::views {

enum class CodeState { Plain, InBlockComment, InTripleString };

// Formats of one line; `state` carries over from the line before. Unknown languages get strings,
// numbers and # or // comments only.
QVector<QTextLayout::FormatRange> highlightLine(const QString& line,
                                                const QString& language,
                                                const style::Palette& palette,
                                                CodeState& state);

}  // namespace ui::views
