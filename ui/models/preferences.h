// What the user set for all chats and models; kept in the settings file.
#pragma once

#include <QSettings>
#include <QString>
#include <QStringList>

#include "engine/api/engine_config.h"
#include "ui/models/chat_record.h"
#include "ui/style/theme.h"

namespace ui::models {

struct Preferences {
  static constexpr int kSmallestText = 11, kLargestText = 18, kUsualText = 13;  // pixels

  style::ThemeMode theme = style::ThemeMode::Auto;
  int textSize = kUsualText;
  ChatSettings chat = defaultChatSettings();  // of new chats
  QString systemPrompt;                       // of new chats
  engine::EngineConfig engine;                // of models opened from now on; no path

  friend bool operator==(const Preferences&, const Preferences&) = default;
};

// A value that cannot be is left at its default and named in `complaints`, one sentence each.
Preferences readPreferences(const QSettings& settings, QStringList& complaints);
void writePreferences(QSettings& settings, const Preferences& preferences);

}  // namespace ui::models
