// Following the desktop's colours while running: a portal that changes its mind, or a palette that does.
#include "ui/style/desktop_scheme.h"

#include <QApplication>
#include <QDBusConnection>
#include <QDBusMessage>
#include <QDBusVariant>
#include <QProcess>
#include <QSignalSpy>
#include <QStandardPaths>
#include <QTest>

#include "ui/style/theme.h"

namespace {

// Answers as the desktop's portal does.
class FakePortal : public QObject {
  Q_OBJECT
  Q_CLASSINFO("D-Bus Interface", "org.freedesktop.portal.Settings")

 public:
  uint scheme = 0;
  int numReads = 0;

 public slots:
  QDBusVariant Read(const QString& nameSpace, const QString& key) {
    ++numReads;
    const bool isOurs = nameSpace == "org.freedesktop.appearance" && key == "color-scheme";
    return QDBusVariant(QVariant::fromValue(QDBusVariant(isOurs ? scheme : 99)));
  }

 public:
  void change(uint value) {
    scheme = value;
    QDBusMessage signal = QDBusMessage::createSignal("/org/freedesktop/portal/desktop", "org.freedesktop.portal.Settings",
                                                     "SettingChanged");
    signal << "org.freedesktop.appearance" << "color-scheme" << QVariant::fromValue(QDBusVariant(value));
    QDBusConnection(QStringLiteral("portal")).send(signal);
  }
};

}  // namespace

class DesktopSchemeTest : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase();
  void cleanupTestCase();
  void withoutAPortalThePaletteDecides();
  void thePortalDecidesAndIsFollowedLive();
  void aChosenThemeDoesNotFollow();
  void textSizeComesBackExactly();

 private:
  QProcess m_bus;
  FakePortal m_portal;
  bool m_hasPortal = false;
};

void DesktopSchemeTest::initTestCase() {
  const QString daemon = QStandardPaths::findExecutable("dbus-daemon");
  qunsetenv("DBUS_SESSION_BUS_ADDRESS");
  if (daemon.isEmpty()) return;
  m_bus.start(daemon, {"--session", "--nofork", "--print-address"});
  if (!m_bus.waitForReadyRead(5000)) return;
  const QByteArray address = m_bus.readLine().trimmed();
  qputenv("DBUS_SESSION_BUS_ADDRESS", address);
  QDBusConnection bus = QDBusConnection::connectToBus(QString::fromUtf8(address), "portal");
  m_hasPortal = bus.isConnected() && bus.registerService("org.freedesktop.portal.Desktop") &&
                bus.registerObject("/org/freedesktop/portal/desktop", &m_portal, QDBusConnection::ExportAllSlots);
}

void DesktopSchemeTest::cleanupTestCase() {
  QDBusConnection::disconnectFromBus("portal");
  m_bus.kill();
  m_bus.waitForFinished(3000);
}

void DesktopSchemeTest::withoutAPortalThePaletteDecides() {
  const QByteArray address = qgetenv("DBUS_SESSION_BUS_ADDRESS");
  qunsetenv("DBUS_SESSION_BUS_ADDRESS");
  ui::style::Theme theme(*qApp);
  QVERIFY(!theme.palette().isDark());
  QSignalSpy changes(&theme, &ui::style::Theme::changed);
  theme.desktop().setPaletteDark(true);
  QVERIFY(theme.palette().isDark());
  QCOMPARE(changes.size(), 1);
  QVERIFY(QApplication::palette().color(QPalette::Window).lightnessF() < 0.5);
  theme.desktop().setPaletteDark(false);
  QVERIFY(!theme.palette().isDark());
  if (!address.isEmpty()) qputenv("DBUS_SESSION_BUS_ADDRESS", address);
}

void DesktopSchemeTest::thePortalDecidesAndIsFollowedLive() {
  if (!m_hasPortal) QSKIP("no dbus-daemon: the portal is not tried");
  m_portal.scheme = 1;
  ui::style::Theme theme(*qApp);
  QTRY_VERIFY(theme.palette().isDark());
  QCOMPARE(m_portal.numReads, 1);
  m_portal.change(2);
  QTRY_VERIFY(!theme.palette().isDark());
  m_portal.change(1);
  QTRY_VERIFY(theme.palette().isDark());
  m_portal.change(0);  // no preference: the palette again
  QTRY_VERIFY(!theme.palette().isDark());
}

void DesktopSchemeTest::aChosenThemeDoesNotFollow() {
  ui::style::Theme theme(*qApp);
  theme.setMode(ui::style::ThemeMode::Light);
  theme.desktop().setPaletteDark(true);
  QVERIFY(!theme.palette().isDark());
  theme.setMode(ui::style::ThemeMode::Auto);
  QVERIFY(theme.palette().isDark());
  theme.desktop().setPaletteDark(false);
}

void DesktopSchemeTest::textSizeComesBackExactly() {
  ui::style::Theme theme(*qApp);
  QWidget widget;
  QFont font = QApplication::font();
  font.setPixelSize(11);
  widget.setFont(font);
  for (int size : {18, 11, 16, 13}) {
    theme.setTextSize(size);
    QCOMPARE(QApplication::font().pixelSize(), size);
    QCOMPARE(widget.font().pixelSize(), qRound(11 * size / 13.0));
  }
}

QTEST_MAIN(DesktopSchemeTest)
#include "tst_desktop_scheme.moc"
