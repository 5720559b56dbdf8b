#include "ui/style/palette.h"

#include <QString>

namespace ui::style {

void Palette::set(Role role, const char* rgb) {
  m_colors[static_cast<std::size_t>(role)] = QColor(QLatin1String(rgb));
}

Palette Palette::makeLight() {
  Palette p;
  p.set(Role::Canvas, "#f2f3f5");
  p.set(Role::Panel, "#ffffff");
  p.set(Role::Border, "#dfe2e7");
  p.set(Role::Field, "#f0f1f5");
  p.set(Role::FieldHover, "#e6e9ef");
  p.set(Role::Text, "#1a1c20");
  p.set(Role::MutedText, "#5f6671");
  p.set(Role::FaintText, "#8a909a");
  p.set(Role::Accent, "#0072b2");
  p.set(Role::OnAccent, "#ffffff");
  p.set(Role::UserBubble, "#e2edf8");
  p.set(Role::CodeBackground, "#eff1f5");
  p.set(Role::Track, "#e6e8ec");
  p.set(Role::Selection, "#b9d9ee");
  p.set(Role::Danger, "#c85500");
  p.set(Role::OnDanger, "#ffffff");
  p.set(Role::Link, "#00659e");
  p.set(Role::Prefill, "#0072b2");
  p.set(Role::Decode, "#7cc0ec");
  p.set(Role::Draft, "#cc79a7");
  p.set(Role::Accepted, "#009e73");
  p.set(Role::Rejected, "#d55e00");
  p.set(Role::Preempted, "#d55e00");
  p.set(Role::Cached, "#b4bac4");
  p.set(Role::Free, "#eef0f3");
  p.set(Role::Waiting, "#8a909a");
  p.set(Role::OtherRequests, "#808080");
  p.set(Role::BudgetLine, "#5f6671");
  p.set(Role::TimeCursor, "#1a1c20");
  p.set(Role::Hover, "#1a1c20");
  p.set(Role::CodeKeyword, "#a6457f");
  p.set(Role::CodeString, "#00704f");
  p.set(Role::CodeComment, "#6b7280");
  p.set(Role::CodeNumber, "#9a4600");
  p.m_hues = {QColor(0x3d98d8), QColor(0xcc8a00), QColor(0x009e73), QColor(0xc0609a),
              QColor(0x0072b2), QColor(0xd55e00), QColor(0xb5ac10), QColor(0x6a4fb0)};
  return p;
}

Palette Palette::makeDark() {
  Palette p;
  p.m_isDark = true;
  p.set(Role::Canvas, "#15171a");
  p.set(Role::Panel, "#1b1e25");
  p.set(Role::Border, "#2c3038");
  p.set(Role::Field, "#23272e");
  p.set(Role::FieldHover, "#2d323b");
  p.set(Role::Text, "#e6e8eb");
  p.set(Role::MutedText, "#9aa1ab");
  p.set(Role::FaintText, "#757c87");
  p.set(Role::Accent, "#56b4e9");
  p.set(Role::OnAccent, "#10202b");
  p.set(Role::UserBubble, "#263340");
  p.set(Role::CodeBackground, "#22262d");
  p.set(Role::Track, "#2c3038");
  p.set(Role::Selection, "#2f5571");
  p.set(Role::Danger, "#d55e00");
  p.set(Role::OnDanger, "#ffffff");
  p.set(Role::Link, "#56b4e9");
  p.set(Role::Prefill, "#3d8fd6");
  p.set(Role::Decode, "#56b4e9");
  p.set(Role::Draft, "#cc79a7");
  p.set(Role::Accepted, "#12b185");
  p.set(Role::Rejected, "#e8731c");
  p.set(Role::Preempted, "#e8731c");
  p.set(Role::Cached, "#5a616d");
  p.set(Role::Free, "#22252c");
  p.set(Role::Waiting, "#757c87");
  p.set(Role::OtherRequests, "#999999");
  p.set(Role::BudgetLine, "#9aa1ab");
  p.set(Role::TimeCursor, "#ffffff");
  p.set(Role::Hover, "#ffffff");
  p.set(Role::CodeKeyword, "#d98bb8");
  p.set(Role::CodeString, "#5cc9a3");
  p.set(Role::CodeComment, "#8b929c");
  p.set(Role::CodeNumber, "#e6a35c");
  p.m_hues = {QColor(0x56b4e9), QColor(0xe69f00), QColor(0x009e73), QColor(0xcc79a7),
              QColor(0x1f7fc4), QColor(0xd55e00), QColor(0xf0e442), QColor(0x9a84d8)};
  return p;
}

const Palette& Palette::light() {
  static const Palette kLight = makeLight();
  return kLight;
}

const Palette& Palette::dark() {
  static const Palette kDark = makeDark();
  return kDark;
}

QColor Palette::requestHue(std::uint64_t index) const { return m_hues[index % kNumRequestHues]; }

QPalette Palette::qtPalette() const {
  QPalette q;
  q.setColor(QPalette::Window, color(Role::Canvas));
  q.setColor(QPalette::WindowText, color(Role::Text));
  q.setColor(QPalette::Base, color(Role::Panel));
  q.setColor(QPalette::AlternateBase, color(Role::Field));
  q.setColor(QPalette::Text, color(Role::Text));
  q.setColor(QPalette::PlaceholderText, color(Role::MutedText));
  q.setColor(QPalette::Button, color(Role::Field));
  q.setColor(QPalette::ButtonText, color(Role::Text));
  q.setColor(QPalette::BrightText, color(Role::OnDanger));
  q.setColor(QPalette::Highlight, color(Role::Selection));
  q.setColor(QPalette::HighlightedText, color(Role::Text));
  q.setColor(QPalette::Link, color(Role::Link));
  q.setColor(QPalette::ToolTipBase, color(Role::Panel));
  q.setColor(QPalette::ToolTipText, color(Role::Text));
  q.setColor(QPalette::Mid, color(Role::Border));
  for (auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText}) {
    q.setColor(QPalette::Disabled, role, color(Role::FaintText));
  }
  return q;
}

QString css(const QColor& color) { return color.name(QColor::HexRgb); }

QColor blend(const QColor& a, const QColor& b, double share) {
  const auto mix = [share](int x, int y) { return static_cast<int>(x * share + y * (1 - share) + 0.5); };
  return QColor(mix(a.red(), b.red()), mix(a.green(), b.green()), mix(a.blue(), b.blue()));
}

}  // namespace ui::style
