// The palette: readable text, and meanings that stay apart for eyes that see two primaries.
#include "ui/style/palette.h"

#include <QTest>
#include <cmath>

#include "ui/style/format.h"

using ui::style::Palette;
using ui::style::Role;

namespace {

double linear(double channel) {
  return channel <= 0.04045 ? channel / 12.92 : std::pow((channel + 0.055) / 1.055, 2.4);
}

double luminance(const QColor& c) {
  return 0.2126 * linear(c.redF()) + 0.7152 * linear(c.greenF()) + 0.0722 * linear(c.blueF());
}

double contrast(const QColor& a, const QColor& b) {
  const double x = luminance(a), y = luminance(b);
  return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

// Deuteranopia after Viénot, Brettel and Mollon 1999, in linear RGB.
QColor asDeuteranope(const QColor& c) {
  const double r = linear(c.redF()), g = linear(c.greenF()), b = linear(c.blueF());
  const double rg = 0.29275 * r + 0.70725 * g;
  const double bb = -0.02234 * r + 0.02234 * g + b;
  const auto encode = [](double v) {
    return static_cast<float>(std::clamp(std::pow(std::max(v, 0.0), 1 / 2.2), 0.0, 1.0));
  };
  return QColor::fromRgbF(encode(rg), encode(rg), encode(bb));
}

double distance(const QColor& a, const QColor& b) {
  return std::hypot(a.redF() - b.redF(), a.greenF() - b.greenF(), a.blueF() - b.blueF());
}

}  // namespace

class PaletteTest : public QObject {
  Q_OBJECT

 private slots:
  void textIsReadableOnEverySurface_data();
  void textIsReadableOnEverySurface();
  void meaningsStayApartWithoutRedAndGreen();
  void numbersCarryUnits();
};

void PaletteTest::textIsReadableOnEverySurface_data() {
  QTest::addColumn<bool>("dark");
  QTest::newRow("light") << false;
  QTest::newRow("dark") << true;
}

void PaletteTest::textIsReadableOnEverySurface() {
  QFETCH(bool, dark);
  const Palette& p = dark ? Palette::dark() : Palette::light();
  for (Role surface : {Role::Canvas, Role::Panel, Role::Field, Role::UserBubble, Role::CodeBackground}) {
    QVERIFY(contrast(p.color(Role::Text), p.color(surface)) >= 7.0);
    QVERIFY(contrast(p.color(Role::MutedText), p.color(surface)) >= 4.5);
    QVERIFY(contrast(p.color(Role::Link), p.color(surface)) >= 4.5);
  }
  QVERIFY(contrast(p.color(Role::OnAccent), p.color(Role::Accent)) >= 4.5);
  QVERIFY(contrast(p.color(Role::OnDanger), p.color(Role::Danger)) >= 3.0);
  for (Role code : {Role::CodeKeyword, Role::CodeString, Role::CodeComment, Role::CodeNumber}) {
    QVERIFY(contrast(p.color(code), p.color(Role::CodeBackground)) >= 4.2);
  }
}

void PaletteTest::meaningsStayApartWithoutRedAndGreen() {
  for (const Palette* p : {&Palette::light(), &Palette::dark()}) {
    const Role roles[] = {Role::Prefill, Role::Decode, Role::Draft, Role::Preempted, Role::Cached};
    for (Role a : roles) {
      for (Role b : roles) {
        if (a == b) continue;
        QVERIFY(distance(asDeuteranope(p->color(a)), asDeuteranope(p->color(b))) > 0.12);
      }
    }
  }
}

void PaletteTest::numbersCarryUnits() {
  QLocale::setDefault(QLocale(QLocale::English, QLocale::UnitedKingdom));
  using namespace ui::style;
  QCOMPARE(formatMs(84.2), QString("84 ms"));
  QCOMPARE(formatMs(4.31), QString("4.3 ms"));
  QCOMPARE(formatMs(1250), QString("1.25 s"));
  QCOMPARE(formatMs(185'000), QString("3 min 5 s"));
  QCOMPARE(formatMs(-1), QString("–"));
  QCOMPARE(formatTokensPerSecond(231.4), QString("231 tok/s"));
  QCOMPARE(formatTokensPerSecond(8.42), QString("8.4 tok/s"));
  QCOMPARE(formatPercent(0.711), QString("71 %"));
  QCOMPARE(formatCount(1536), QString("1,536"));
}

QTEST_MAIN(PaletteTest)
#include "tst_palette.moc"
