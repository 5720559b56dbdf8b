// Which palette is in force: the user's setting (Auto, Light, Dark), the desktop's when Auto, and how
// large the text is.
#pragma once

#include <QObject>

#include "ui/style/desktop_scheme.h"
#include "ui/style/palette.h"

class QApplication;

namespace ui::style {

enum class ThemeMode { Auto, Light, Dark };

// Ui thread only. One per process, owned by the application; views read it through theme().
class Theme : public QObject {
  Q_OBJECT

 public:
  // Reads the desktop's own palette before it is replaced, and follows it. `app` must outlive this.
  explicit Theme(QApplication& app, QObject* parent = nullptr);

  ThemeMode mode() const { return m_mode; }
  void setMode(ThemeMode mode);
  const Palette& palette() const { return *m_palette; }

  // Pixels of usual text; all other sizes keep their proportion. The whole program follows at once.
  void setTextSize(int pixels);
  int textSize() const { return m_textSize; }

  DesktopScheme& desktop() { return m_desktop; }

  // Style sheet of the whole window for a palette.
  static QString styleSheet(const Palette& palette, int textSize = 13);

 signals:
  void changed();

 protected:
  // The platform announces a new palette.
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void apply();
  void readDesktopPalette();

  QApplication& m_app;
  ThemeMode m_mode = ThemeMode::Auto;
  const Palette* m_palette;
  DesktopScheme m_desktop;
  int m_textSize = 13;
  bool m_isReading = false;
};

// The palette that goes with what a widget shows now; works without a Theme (tests of single views).
const Palette& paletteOf(const QPalette& qtPalette);

}  // namespace ui::style
