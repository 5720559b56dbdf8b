// Sizes in device-independent pixels, shared by all panels so that they line up.
#pragma once

namespace ui::style {

constexpr int kLeastWidth = 900, kLeastHeight = 600;  // of the window; the views scroll where they need more
constexpr int kHeaderHeight = 40;
constexpr int kStatusHeight = 26;
constexpr int kStripHeight = 28;
constexpr int kSidebarWidth = 248;
constexpr int kAnswerCardWidth = 254;
constexpr int kTranscriptMaxWidth = 700;
constexpr int kPanelMargin = 12;
constexpr int kPanelRadius = 8;
constexpr int kSpacing = 8;

}  // namespace ui::style
