#include "ui/style/english_plurals.h"

namespace ui::style {

QString EnglishPlurals::translate(const char*, const char* source, const char*, int n) const {
  QString text = QString::fromUtf8(source);
  if (n < 0 || !(text.contains(QLatin1String("(s)")) || text.contains(QLatin1String("(es)")))) return {};
  text.replace(QLatin1String("(es)"), QLatin1String(n == 1 ? "" : "es"));
  text.replace(QLatin1String("(s)"), QLatin1String(n == 1 ? "" : "s"));
  return text;
}

}  // namespace ui::style
