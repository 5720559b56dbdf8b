// Which palette is in force: the user's setting (Auto, Light, Dark), the desktop's when Auto.
#pragma once

#include <QObject>

#include "ui/style/palette.h"

class QApplication;

namespace ui::style {

enum class ThemeMode { Auto, Light, Dark };

// Ui thread only. One per process, owned by the application; views read it through theme().
class Theme : public QObject {
  Q_OBJECT

 public:
  // Reads the desktop's own palette once, before anything replaces it. `app` must outlive this.
  explicit Theme(QApplication& app, QObject* parent = nullptr);

  ThemeMode mode() const { return m_mode; }
  void setMode(ThemeMode mode);
  const Palette& palette() const { return *m_palette; }

  // Style sheet of the whole window for a palette.
  static QString styleSheet(const Palette& palette);

 signals:
  void changed();

 private:
  void apply();
  bool desktopIsDark() const;

  QApplication& m_app;
  ThemeMode m_mode = ThemeMode::Auto;
  const Palette* m_palette;
  bool m_desktopIsDark = false;
};

// The palette that goes with what a widget shows now; works without a Theme (tests of single views).
const Palette& paletteOf(const QPalette& qtPalette);

}  // namespace ui::style
