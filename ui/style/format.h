// Numbers to text with units, the same everywhere.
#pragma once

#include <QString>

namespace ui::style {

// "92 MB", "1.5 GB" (decimal units).
QString formatBytes(qint64 bytes);

// "1,536" in the user's locale.
QString formatCount(qint64 count);

// "84 ms", "1.25 s", "3 min 5 s"; three figures at most below a minute.
QString formatMs(double ms);

// "231 tok/s", "8.4 tok/s".
QString formatTokensPerSecond(double rate);

// "71 %" from 0.71.
QString formatPercent(double share);

// "14:02", "yesterday", "Friday", "12 November", "12 November 2024": when something was, in words.
QString formatWhen(qint64 msSinceEpoch, qint64 nowMsSinceEpoch);

}  // namespace ui::style
