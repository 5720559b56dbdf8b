// Numbers to text with units, the same everywhere.
#pragma once

#include <QString>

namespace ui::style {

// "92 MB", "1.5 GB" (decimal units).
QString formatBytes(qint64 bytes);

}  // namespace ui::style
