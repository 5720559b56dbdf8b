// Whether the desktop wants dark or light, now and when it changes its mind.
#pragma once

#include <QDBusVariant>
#include <QObject>
#include <optional>

namespace ui::style {

// Asks the desktop portal (org.freedesktop.appearance color-scheme) without waiting for it; where there
// is none or it has no preference, the desktop's own palette decides. Ui thread only.
class DesktopScheme : public QObject {
  Q_OBJECT

 public:
  // Made before the application gets a palette of ours.
  explicit DesktopScheme(QObject* parent = nullptr);

  bool isDark() const { return m_portalIsDark.value_or(m_paletteIsDark); }
  // What the desktop's palette looks like, read anew.
  void setPaletteDark(bool dark);

 signals:
  void changed();

 private slots:
  void onSettingChanged(const QString& nameSpace, const QString& key, const QDBusVariant& value);

 private:
  void askPortal();
  // 0 no preference, 1 dark, 2 light.
  void takePortalValue(uint value);

  bool m_paletteIsDark = false;
  std::optional<bool> m_portalIsDark;
};

}  // namespace ui::style
