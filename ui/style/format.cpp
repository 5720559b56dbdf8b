#include "ui/style/format.h"

#include <QCoreApplication>
#include <QDateTime>
#include <QLocale>
#include <cmath>

namespace ui::style {

namespace {

QString translate(const char* text) { return QCoreApplication::translate("format", text); }

// Three significant figures, at least none and at most two decimals.
QString threeFigures(double value) {
  const int decimals = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return QLocale().toString(value, 'f', decimals);
}

}  // namespace

QString formatBytes(qint64 bytes) {
  const int precision = bytes < 100'000'000 && bytes >= 1'000'000 ? 1 : bytes < 1'000'000'000 ? 0 : 2;
  return QLocale().formattedDataSize(bytes, precision, QLocale::DataSizeSIFormat);
}

QString formatCount(qint64 count) { return QLocale().toString(count); }

QString formatMs(double ms) {
  if (!std::isfinite(ms) || ms < 0) return QStringLiteral("–");
  if (ms < 1000) {
    const int decimals = ms < 10 ? 1 : 0;
    return QLocale().toString(ms, 'f', decimals) + QStringLiteral(" ms");
  }
  if (ms < 60'000) return threeFigures(ms / 1000) + QStringLiteral(" s");
  const auto seconds = static_cast<qint64>(ms / 1000);
  return QStringLiteral("%1 min %2 s").arg(seconds / 60).arg(seconds % 60);
}

QString formatTokensPerSecond(double rate) {
  if (!std::isfinite(rate) || rate < 0) return QStringLiteral("–");
  return QLocale().toString(rate, 'f', rate < 10 ? 1 : 0) + QStringLiteral(" tok/s");
}

QString formatPercent(double share) {
  return QLocale().toString(share * 100, 'f', 0) + QStringLiteral(" %");
}

QString formatWhen(qint64 msSinceEpoch, qint64 nowMsSinceEpoch) {
  const QDateTime then = QDateTime::fromMSecsSinceEpoch(msSinceEpoch);
  const QDateTime now = QDateTime::fromMSecsSinceEpoch(nowMsSinceEpoch);
  const qint64 days = then.date().daysTo(now.date());
  const QLocale locale;
  if (days <= 0) return locale.toString(then.time(), QStringLiteral("HH:mm"));
  if (days == 1) return translate("yesterday");
  if (days < 7) return locale.toString(then.date(), QStringLiteral("dddd"));
  const bool sameYear = then.date().year() == now.date().year();
  return locale.toString(then.date(), sameYear ? QStringLiteral("d MMMM") : QStringLiteral("d MMMM yyyy"));
}

}  // namespace ui::style
