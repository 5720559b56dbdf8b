// Following the desktop's colours while running: a portal that changes its mind, or a palette that does.
#include "ui/style/desktop_scheme.h"

#include <QApplication>
#include <QDBusConnection>
#include <QDBusMessage>
#include <QDBusVariant>
#include <QProcess>
#include <QSignalSpy>
#include <QSocketNotifier>
#include <QStandardPaths>
#include <QTest>
#include <cstdio>

#include "ui/style/theme.h"

namespace {

constexpr const char* kPortalFlag = "--portal";

// Answers as the desktop's portal does, in a process of its own as the real one; told new values on its input.
class FakePortal : public QObject {
  Q_OBJECT
  Q_CLASSINFO("D-Bus Interface", "org.freedesktop.portal.Settings")

 public:
  // Runs until its input ends. One line of input is one value, one line of output follows it.
  int serve() {
    QDBusConnection bus = QDBusConnection::sessionBus();
    if (!bus.registerService("org.freedesktop.portal.Desktop") ||
        !bus.registerObject("/org/freedesktop/portal/desktop", this, QDBusConnection::ExportAllSlots)) {
      return 1;
    }
    std::puts("ready");
    std::fflush(stdout);
    QSocketNotifier input(fileno(stdin), QSocketNotifier::Read);
    connect(&input, &QSocketNotifier::activated, this, [this] {
      char line[16];
      if (std::fgets(line, sizeof line, stdin) == nullptr) return QCoreApplication::quit();
      tell(QByteArray(line).trimmed().toUInt());
    });
    return QCoreApplication::exec();
  }

 public slots:
  QDBusVariant Read(const QString& nameSpace, const QString& key) {
    const bool isOurs = nameSpace == "org.freedesktop.appearance" && key == "color-scheme";
    return QDBusVariant(QVariant::fromValue(QDBusVariant(isOurs ? 1u : 99u)));
  }

 private:
  static void tell(uint value) {
    QDBusMessage signal = QDBusMessage::createSignal("/org/freedesktop/portal/desktop", "org.freedesktop.portal.Settings",
                                                     "SettingChanged");
    signal << "org.freedesktop.appearance" << "color-scheme" << QVariant::fromValue(QDBusVariant(value));
    QDBusConnection::sessionBus().send(signal);
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
  void change(uint value) { m_portal.write(QByteArray::number(value) + '\n'); }

  QProcess m_bus;
  QProcess m_portal;
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
  m_portal.start(QCoreApplication::applicationFilePath(), {kPortalFlag});
  m_hasPortal = m_portal.waitForReadyRead(5000) && m_portal.readLine().trimmed() == "ready";
}

void DesktopSchemeTest::cleanupTestCase() {
  m_portal.closeWriteChannel();
  m_portal.waitForFinished(3000);
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
  ui::style::Theme theme(*qApp);
  QTRY_VERIFY(theme.palette().isDark());
  change(2);
  QTRY_VERIFY(!theme.palette().isDark());
  change(1);
  QTRY_VERIFY(theme.palette().isDark());
  change(0);  // no preference: the palette again
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

int main(int argc, char** argv) {
  if (argc == 2 && qstrcmp(argv[1], kPortalFlag) == 0) {
    QCoreApplication app(argc, argv);
    return FakePortal().serve();
  }
  QApplication app(argc, argv);
  DesktopSchemeTest test;
  return QTest::qExec(&test, argc, argv);
}
#include "tst_desktop_scheme.moc"
