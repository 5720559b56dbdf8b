#include "ui/style/fonts.h"

#include <QFontDatabase>
#include <QStringList>

namespace ui::style {

bool hasInter() {
  static const bool kHas = QFontDatabase::families().contains(QStringLiteral("Inter"));
  return kHas;
}

QFont textFont(int pixels, QFont::Weight weight) {
  QFont font;
  font.setFamilies({QStringLiteral("Inter"), QStringLiteral("Noto Sans"), QStringLiteral("DejaVu Sans"),
                    QStringLiteral("Noto Sans CJK SC"), QStringLiteral("Noto Color Emoji")});
  font.setStyleHint(QFont::SansSerif);
  font.setPixelSize(pixels);
  font.setWeight(weight);
  return font;
}

QFont monoFont(int pixels) {
  QFont font;
  font.setFamilies({QStringLiteral("JetBrains Mono"), QStringLiteral("DejaVu Sans Mono"),
                    QStringLiteral("Noto Sans CJK SC"), QStringLiteral("monospace")});
  font.setStyleHint(QFont::Monospace);
  font.setFixedPitch(true);
  font.setPixelSize(pixels);
  return font;
}

}  // namespace ui::style
