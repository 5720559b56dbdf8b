// The two typefaces: Inter for text and JetBrains Mono for code and figures, with plain fallbacks.
#pragma once

#include <QFont>

namespace ui::style {

// Sizes in pixels of a 96-dpi screen; Qt scales them on others.
QFont textFont(int pixels = 13, QFont::Weight weight = QFont::Normal);
QFont monoFont(int pixels = 13);

// True when the intended family is installed; the fallback works, but looks plainer.
bool hasInter();

}  // namespace ui::style
