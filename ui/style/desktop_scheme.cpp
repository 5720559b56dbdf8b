#include "ui/style/desktop_scheme.h"

#include <QApplication>
#include <QDBusConnection>
#include <QDBusMessage>
#include <QDBusPendingCallWatcher>
#include <QDBusPendingReply>
#include <QPalette>

namespace ui::style {

namespace {

const QString kService = QStringLiteral("org.freedesktop.portal.Desktop");
const QString kPath = QStringLiteral("/org/freedesktop/portal/desktop");
const QString kInterface = QStringLiteral("org.freedesktop.portal.Settings");
const QString kNamespace = QStringLiteral("org.freedesktop.appearance");
const QString kKey = QStringLiteral("color-scheme");
constexpr int kTimeoutMs = 3000;

}  // namespace

DesktopScheme::DesktopScheme(QObject* parent) : QObject(parent) {
  const QPalette palette = QApplication::palette();
  m_paletteIsDark = palette.color(QPalette::Window).lightnessF() < palette.color(QPalette::WindowText).lightnessF();
  askPortal();
}

void DesktopScheme::askPortal() {
  if (qEnvironmentVariableIsEmpty("DBUS_SESSION_BUS_ADDRESS")) return;
  QDBusConnection bus = QDBusConnection::sessionBus();
  if (!bus.isConnected()) return;
  qRegisterMetaType<QDBusVariant>();  // or the slot's type is unknown and the connection refused
  bus.connect(kService, kPath, kInterface, QStringLiteral("SettingChanged"), this,
              SLOT(onSettingChanged(QString,QString,QDBusVariant)));
  QDBusMessage question = QDBusMessage::createMethodCall(kService, kPath, kInterface, QStringLiteral("Read"));
  question << kNamespace << kKey;
  auto* watcher = new QDBusPendingCallWatcher(bus.asyncCall(question, kTimeoutMs), this);
  connect(watcher, &QDBusPendingCallWatcher::finished, this, [this](QDBusPendingCallWatcher* finished) {
    const QDBusPendingReply<QDBusVariant> reply = *finished;
    finished->deleteLater();
    if (reply.isError()) return;  // no portal: the palette decides
    QVariant value = reply.value().variant();
    if (value.canConvert<QDBusVariant>()) value = value.value<QDBusVariant>().variant();  // Read wraps twice
    takePortalValue(value.toUInt());
  });
}

void DesktopScheme::onSettingChanged(const QString& nameSpace, const QString& key, const QDBusVariant& value) {
  if (nameSpace == kNamespace && key == kKey) takePortalValue(value.variant().toUInt());
}

void DesktopScheme::takePortalValue(uint value) {
  const bool before = isDark();
  m_portalIsDark = value == 1 ? std::optional(true) : value == 2 ? std::optional(false) : std::nullopt;
  if (isDark() != before) emit changed();
}

void DesktopScheme::setPaletteDark(bool dark) {
  const bool before = isDark();
  m_paletteIsDark = dark;
  if (isDark() != before) emit changed();
}

}  // namespace ui::style
