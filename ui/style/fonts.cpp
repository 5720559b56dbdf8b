#include "ui/style/fonts.h"

#include <QApplication>
#include <QFontDatabase>
#include <QScreen>
#include <QStringList>
#include <QWidget>
#include <algorithm>
#include <cmath>

namespace ui::style {

namespace {

constexpr const char* kScale = "tessera_text_scale";  // a property of the application: no global of ours

int scaled(int pixels) { return std::max(6, int(std::lround(pixels * textScale()))); }

void rescale(QWidget& widget, double factor) {
  if (!widget.testAttribute(Qt::WA_SetFont) || widget.font().pixelSize() <= 0) return;
  constexpr const char* kExact = "tessera_font_pixels";  // unrounded, so that sizes come back
  const QVariant known = widget.property(kExact);
  const double exact = (known.isValid() ? known.toDouble() : double(widget.font().pixelSize())) * factor;
  widget.setProperty(kExact, exact);
  QFont font = widget.font();
  font.setPixelSize(std::max(6, int(std::lround(exact))));
  // a style sheet keeps the font that a widget had when it was dressed, and brings it back with every new sheet
  constexpr const char* kKept = "_q_styleSheetWidgetFont";
  if (widget.property(kKept).isValid()) widget.setProperty(kKept, font);
  widget.setFont(font);
}

}  // namespace

double textScale() {
  const QVariant scale = qApp ? qApp->property(kScale) : QVariant();
  return scale.isValid() ? scale.toDouble() : 1.0;
}

double scaledPx(double pixels) { return std::round(pixels * textScale()); }

QSize scaledSize(const QWidget& window, int width, int height) {
  return (QSizeF(width, height) * textScale()).toSize().boundedTo(window.screen()->availableSize());
}

void setTextScale(double scale) {
  const double factor = scale / textScale();
  qApp->setProperty(kScale, scale);
  for (QWidget* widget : QApplication::allWidgets()) rescale(*widget, factor);
}

bool hasInter() {
  static const bool kHas = QFontDatabase::families().contains(QStringLiteral("Inter"));
  return kHas;
}

QFont textFont(int pixels, QFont::Weight weight) {
  QFont font;
  font.setFamilies({QStringLiteral("Inter"), QStringLiteral("Noto Sans"), QStringLiteral("DejaVu Sans"),
                    QStringLiteral("Noto Sans CJK SC"), QStringLiteral("Noto Color Emoji")});
  font.setStyleHint(QFont::SansSerif);
  font.setPixelSize(scaled(pixels));
  font.setWeight(weight);
  return font;
}

QFont monoFont(int pixels) {
  QFont font;
  font.setFamilies({QStringLiteral("JetBrains Mono"), QStringLiteral("DejaVu Sans Mono"),
                    QStringLiteral("Noto Sans CJK SC"), QStringLiteral("monospace")});
  font.setStyleHint(QFont::Monospace);
  font.setFixedPitch(true);
  font.setPixelSize(scaled(pixels));
  return font;
}

}  // namespace ui::style
