#include "ui/style/format.h"

#include <QLocale>

namespace ui::style {

QString formatBytes(qint64 bytes) {
  return QLocale().formattedDataSize(bytes, 1, QLocale::DataSizeSIFormat);
}

}  // namespace ui::style
