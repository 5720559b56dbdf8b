// The two typefaces: Inter for text and JetBrains Mono for code and figures, with plain fallbacks.
#pragma once

#include <QFont>
#include <QSize>

class QWidget;

namespace ui::style {

// The user's text size over the usual one, for all fonts made from now on; fonts that widgets were
// given before are scaled along. Ui thread only.
void setTextScale(double scale);
double textScale();
// What holds words grows with them: pixels at the usual text size -> pixels now.
double scaledPx(double pixels);
// For a window of its own: grown likewise, but never beyond its screen.
QSize scaledSize(const QWidget& window, int width, int height);

// Sizes in pixels of a 96-dpi screen at the usual text size; Qt scales them on others.
QFont textFont(int pixels = 13, QFont::Weight weight = QFont::Normal);
QFont monoFont(int pixels = 13);

// True when the intended family is installed; the fallback works, but looks plainer.
bool hasInter();

}  // namespace ui::style
