#include "ui/style/theme.h"

#include <QApplication>
#include <QProcessEnvironment>
#include <QProxyStyle>

#include "ui/style/fonts.h"

static void takeUpIcons() { Q_INIT_RESOURCE(icons); }  // must stand outside any namespace

namespace ui::style {

namespace {

bool isDarkPalette(const QPalette& p) {
  return p.color(QPalette::Window).lightnessF() < p.color(QPalette::WindowText).lightnessF();
}

// Fusion as this window wants it: buttons bear words alone, a click beside a slider's handle brings it there.
class PlainFusion : public QProxyStyle {
 public:
  PlainFusion() : QProxyStyle(QStringLiteral("Fusion")) {}

  int styleHint(StyleHint hint, const QStyleOption* option, const QWidget* widget, QStyleHintReturn* more) const override {
    if (hint == SH_DialogButtonBox_ButtonsHaveIcons) return 0;
    if (hint == SH_Slider_AbsoluteSetButtons) return Qt::LeftButton;
    return QProxyStyle::styleHint(hint, option, widget, more);
  }
};

}  // namespace

const Palette& paletteOf(const QPalette& qtPalette) {
  return isDarkPalette(qtPalette) ? Palette::dark() : Palette::light();
}

Theme::Theme(QApplication& app, QObject* parent)
    : QObject(parent), m_app(app), m_palette(&Palette::light()) {
  takeUpIcons();
  QApplication::setStyle(new PlainFusion);
  QApplication::setFont(textFont());
  apply();
  connect(&m_desktop, &DesktopScheme::changed, this, [this] {
    if (m_mode == ThemeMode::Auto) apply();
  });
  app.installEventFilter(this);
}

void Theme::setMode(ThemeMode mode) {
  if (mode == m_mode) return;
  m_mode = mode;
  apply();
}

void Theme::setTextSize(int pixels) {
  if (pixels == m_textSize) return;
  m_textSize = pixels;
  setTextScale(pixels / 13.0);
  QApplication::setFont(textFont());
  apply();
}

bool Theme::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::ThemeChange && watched->isWindowType() && !m_isReading) readDesktopPalette();
  return QObject::eventFilter(watched, event);
}

// Ours hides the desktop's palette: it shows for a moment without anything being painted.
void Theme::readDesktopPalette() {
  m_isReading = true;
  QApplication::setPalette(QPalette());
  const bool isDark = isDarkPalette(QApplication::palette());
  QApplication::setPalette(m_palette->qtPalette());
  m_isReading = false;
  m_desktop.setPaletteDark(isDark);
}

void Theme::apply() {
  const bool dark = m_mode == ThemeMode::Dark || (m_mode == ThemeMode::Auto && m_desktop.isDark());
  m_palette = dark ? &Palette::dark() : &Palette::light();
  QApplication::setPalette(m_palette->qtPalette());
  m_app.setStyleSheet(styleSheet(*m_palette, m_textSize));
  emit changed();
}

QString Theme::styleSheet(const Palette& p, int textSize) {
  QString sheet = QStringLiteral(R"(
QToolTip { background: @panel; color: @text; border: 1px solid @border; padding: 4px 6px; }
QMenuBar { background: transparent; spacing: 2px; }
QMenuBar::item { padding: 5px 9px; border-radius: 5px; color: @muted; background: transparent; }
QMenuBar::item:selected { background: @field; color: @text; }
QMenu { background: @panel; border: 1px solid @border; padding: 4px; }
QMenu::item { padding: 5px 24px 5px 14px; border-radius: 4px; }
QMenu::item:selected { background: @fieldhover; color: @text; }
QMenu::item:disabled { color: @faint; }
QMenu::separator { height: 1px; background: @border; margin: 4px 8px; }
QLineEdit[role="field"], QPlainTextEdit[role="field"] {
  background: @field; border: 1px solid @border; border-radius: 6px; padding: 4px 8px;
  selection-background-color: @selection; selection-color: @text; }
QLineEdit[role="field"]:focus, QPlainTextEdit[role="field"]:focus { border-color: @accent; }
QPushButton { background: @field; border: 1px solid @border; border-radius: 6px; padding: 6px 14px; }
QPushButton:hover { background: @fieldhover; }
QPushButton:focus { border-color: @accent; }
QPushButton:disabled { color: @faint; }
QPushButton[role="primary"] { background: @accent; color: @onaccent; border: 1px solid @accent; font-weight: 600; }
QPushButton[role="primary"]:hover { background: @accenthover; }
QPushButton[role="primary"]:disabled { background: @track; color: @faint; border-color: @track; }
QPushButton[role="danger"] { background: @danger; color: @ondanger; border: 1px solid @danger; font-weight: 600; }
QPushButton[role="chip"] { border-radius: 11px; padding: 2px 10px; font-size: @chippx; min-height: 16px; }
QPushButton[role="file"] { text-align: left; background: @panel; }
QPushButton[role="file"]:hover { background: @fieldhover; }
QPushButton[role="chip"]:checked { background: @accent; color: @onaccent; border-color: @accent; font-weight: 600; }
QToolButton { background: transparent; border: 1px solid transparent; border-radius: 5px; padding: 2px 6px; color: @muted; }
QToolButton:hover { background: @fieldhover; color: @text; }
QToolButton:focus { border-color: @accent; }
QToolButton:disabled { color: @faint; }
QToolButton[role="transport"] { background: @field; border-color: @border; color: @text; padding: 3px 8px; }
QToolButton[role="transport"]:checked { background: @accent; color: @onaccent; border-color: @accent; }
QToolButton[role="perspective"] { padding: 1px 14px; min-height: 20px; font-weight: 600; border: none; border-radius: 5px; }
QToolButton[role="perspective"]:checked { background: @accent; color: @onaccent; }
QToolButton[role="perspective"]:focus { border: 1px solid @text; }
QFrame[role="segment"] { background: @field; border: 1px solid @border; border-radius: 7px; }
QFrame[role="header"], QWidget[role="status"] { background: @panel; }
QFrame[role="sidebar"] { background: @panel; border-right: 1px solid @border; }
QFrame[role="card"] { background: @panel; border: 1px solid @border; border-radius: 8px; }
QFrame[role="cardHead"] { background: @panel; border: 1px solid @border; border-bottom: none;
  border-top-left-radius: 8px; border-top-right-radius: 8px; }
QFrame[role="cardBody"] { background: @panel; border: 1px solid @border; border-top: none;
  border-bottom-left-radius: 8px; border-bottom-right-radius: 8px; }
QToolButton[role="small"] { padding: 0px 4px; font-size: @smallpx; }
QToolButton[role="close"] { padding: 0px 2px; min-width: 12px; max-width: 12px; font-size: @smallpx; }
QToolButton[role="small"]:checked { background: @field; border-color: @border; color: @text; }
QMainWindow::separator { background: transparent; width: 10px; height: 10px; }
QMainWindow::separator:hover { background: @track; }
QTabBar::tab { background: transparent; color: @muted; border: 1px solid transparent; border-radius: 5px;
  padding: 3px 10px; margin: 4px 2px 0 2px; }
QTabBar::tab:selected { background: @panel; color: @text; border-color: @border; }
QTabBar::tab:hover { color: @text; }
QTabBar::tab:focus { border-color: @accent; }
QComboBox, QAbstractSpinBox, QLineEdit[role="knob"] { background: @field; border: 1px solid @border; border-radius: 5px; padding: 2px 6px;
  selection-background-color: @selection; selection-color: @text; }
QLineEdit[role="knob"]:focus, QComboBox:focus, QAbstractSpinBox:focus { border-color: @accent; }
QComboBox:disabled, QAbstractSpinBox:disabled, QLineEdit[role="knob"]:disabled { color: @faint; }
QComboBox::drop-down { border: none; width: 18px; }
QComboBox::down-arrow { image: url(:/icons/down.svg); width: 10px; height: 10px; }
QComboBox QAbstractItemView { background: @panel; border: 1px solid @border; selection-background-color: @fieldhover; selection-color: @text; }
QAbstractSpinBox { padding-right: 20px; }
QAbstractSpinBox::up-button, QAbstractSpinBox::down-button { subcontrol-origin: border; width: 18px; border: none; background: transparent; }
QAbstractSpinBox::up-button { subcontrol-position: top right; }
QAbstractSpinBox::down-button { subcontrol-position: bottom right; }
QAbstractSpinBox::up-button:hover, QAbstractSpinBox::down-button:hover { background: @fieldhover; }
QAbstractSpinBox::up-arrow { image: url(:/icons/up.svg); width: 8px; height: 8px; }
QAbstractSpinBox::down-arrow { image: url(:/icons/down.svg); width: 8px; height: 8px; }
QAbstractScrollArea::corner { background: transparent; border: none; }
QScrollArea[role="plain"] { background: transparent; border: none; }
QScrollArea[role="plain"] > QWidget > QWidget { background: transparent; }
QFrame[role="banner"] { background: @bannerbg; border: 1px solid @danger; border-radius: 6px; }
QFrame[role="loadbar"] { background: @panel; border: none; border-bottom: 1px solid @border; }
QLabel[role="drophint"] { background: @dropbg; color: @text; border: 2px dashed @accent; border-radius: 12px; }
QLabel[role="muted"] { color: @muted; }
QLabel[role="faint"] { color: @faint; }
QLabel[role="title"] { font-weight: 600; }
QLabel[role="brand"] { font-weight: 700; font-size: @brandpx; }
QLabel[role="error"] { color: @dangertext; }
QListView { background: @panel; border: none; outline: none; }
QHeaderView { background: @panel; }
QHeaderView::section { background: @panel; color: @muted; border: none; border-bottom: 1px solid @border; padding: 4px 6px; }
QTableView { background: @panel; gridline-color: @border; border: none; }
QScrollBar:vertical { background: transparent; width: 10px; margin: 0; }
QScrollBar::handle:vertical { background: @track2; border-radius: 4px; min-height: 28px; margin: 1px 2px; }
QScrollBar:horizontal { background: transparent; height: 10px; margin: 0; }
QScrollBar::handle:horizontal { background: @track2; border-radius: 4px; min-width: 28px; margin: 2px 1px; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
QTabWidget::pane { background: @panel; border: 1px solid @border; border-radius: 8px; }
QCheckBox { spacing: 8px; }
QCheckBox::indicator { width: 13px; height: 13px; border: 1px solid @muted; border-radius: 3px; background: @field; }
QCheckBox::indicator:checked { background: @accent; border-color: @accent; image: url(:/icons/@check.svg); }
QCheckBox::indicator:disabled { border-color: @faint; }
QProgressBar { background: @track; border: none; border-radius: 3px; max-height: 6px; }
QProgressBar::chunk { background: @accent; border-radius: 3px; }
QSplitter::handle { background: transparent; }
)");
  const QColor panel = p.color(Role::Panel);
  const std::pair<const char*, QColor> values[] = {
      // longer names first: "@field" must not eat "@fieldhover"
      {"@fieldhover", p.color(Role::FieldHover)},
      {"@accenthover", blend(p.color(Role::Accent), p.color(Role::Text), 0.88)},
      {"@dropbg", blend(p.color(Role::Accent), panel, 0.14)},
      {"@bannerbg", blend(p.color(Role::Danger), panel, 0.10)},
      {"@dangertext", p.isDark() ? QColor(0xff9a52) : QColor(0xa84300)},
      {"@track2", blend(p.color(Role::FaintText), panel, 0.45)},
      {"@onaccent", p.color(Role::OnAccent)},
      {"@ondanger", p.color(Role::OnDanger)},
      {"@selection", p.color(Role::Selection)},
      {"@panel", panel},
      {"@border", p.color(Role::Border)},
      {"@field", p.color(Role::Field)},
      {"@text", p.color(Role::Text)},
      {"@muted", p.color(Role::MutedText)},
      {"@faint", p.color(Role::FaintText)},
      {"@accent", p.color(Role::Accent)},
      {"@danger", p.color(Role::Danger)},
      {"@track", p.color(Role::Track)},
  };
  sheet.replace(QLatin1String("@check"), p.isDark() ? QStringLiteral("check-dark") : QStringLiteral("check-light"));
  sheet.replace(QLatin1String("@smallpx"), QStringLiteral("%1px").arg(qRound(11 * textSize / 13.0)));
  sheet.replace(QLatin1String("@chippx"), QStringLiteral("%1px").arg(textSize - 1));
  sheet.replace(QLatin1String("@brandpx"), QStringLiteral("%1px").arg(textSize + 1));
  for (const auto& [name, color] : values) sheet.replace(QLatin1String(name), css(color));
  return sheet;
}

}  // namespace ui::style
