#include "ui/views/fitting_parts.h"

namespace ui::views {

QString fittingParts(const QString& text, const QFontMetrics& metrics, int width) {
  const QString between = QStringLiteral(" · ");
  QString shown = text;
  while (metrics.horizontalAdvance(shown) > width) {
    const qsizetype at = shown.lastIndexOf(between);
    if (at <= 0) return metrics.elidedText(shown, Qt::ElideRight, width);
    shown.truncate(at);
  }
  return shown;
}

}  // namespace ui::views
