// Colours by meaning, light and dark. Categories follow Okabe and Ito; one meaning keeps one hue in
// every view, and views add a second channel (shape, hatch, text) so that no meaning rests on hue.
#pragma once

#include <QColor>
#include <QPalette>
#include <array>
#include <cstdint>

namespace ui::style {

enum class Role : std::uint8_t {
  // surfaces and text
  Canvas, Panel, Border, Field, FieldHover, Text, MutedText, FaintText, Accent, OnAccent,
  UserBubble, CodeBackground, Track, Selection, Danger, OnDanger, Link,
  // meanings
  Prefill, Decode, Draft, Accepted, Rejected, Preempted, Cached, Free, Waiting, OtherRequests,
  BudgetLine, TimeCursor, Hover,
  // code
  CodeKeyword, CodeString, CodeComment, CodeNumber,
  Count
};

class Palette {
 public:
  static const Palette& light();
  static const Palette& dark();

  bool isDark() const { return m_isDark; }
  QColor color(Role role) const { return m_colors[static_cast<std::size_t>(role)]; }

  // One of kNumRequestHues hues for a request in focus; index is taken modulo kNumRequestHues.
  QColor requestHue(std::uint64_t index) const;
  static constexpr int kNumRequestHues = 8;

  // For Qt's own widgets.
  QPalette qtPalette() const;

 private:
  Palette() = default;
  static Palette makeLight();
  static Palette makeDark();
  void set(Role role, const char* rgb);

  bool m_isDark = false;
  std::array<QColor, static_cast<std::size_t>(Role::Count)> m_colors;
  std::array<QColor, kNumRequestHues> m_hues;
};

// "rgba(...)"-free CSS form of an opaque colour: "#rrggbb".
QString css(const QColor& color);

// Mixes a over b; share 1 is a alone.
QColor blend(const QColor& a, const QColor& b, double share);

}  // namespace ui::style
