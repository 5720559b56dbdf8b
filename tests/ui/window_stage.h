// A whole window with a scripted engine behind it, in a folder of its own.
#pragma once

#include <QApplication>
#include <QSettings>
#include <QString>

#include "tests/support/fake_engine_handle.h"
#include "ui/main_window.h"
#include "ui/models/chat_store.h"
#include "ui/panels/chat_panel.h"
#include "ui/panels/composer.h"
#include "ui/style/theme.h"

namespace tests {

struct WindowStage {
  explicit WindowStage(const QString& dir)
      : settings(dir + "/tessera.ini", QSettings::IniFormat), store(dir + "/chats.sqlite"), theme(*qApp),
        window(ui::WindowParts{fake, store, settings, theme}) {}

  // One scheduler step and one frame each; at least one.
  void play(int steps) {
    for (int i = 0; i < steps && (fake.isBusy() || i == 0); ++i) {
      fake.advance(1);
      window.engineBridge().pull();
      QApplication::processEvents();
    }
  }
  void start(bool withModel = true) {
    if (withModel) fake.loadAtOnce("/models/SmolLM2-135M.Q4_1.gguf");
    window.start({});
    window.show();
    play(1);
  }
  void say(const QString& text) {
    window.chatPanel().composer().setText(text);
    window.chatPanel().send();
  }
  const ui::models::MessageRecord* lastMessage() {
    const qint64 chatId = window.chatPanel().chatId();
    const auto path = window.conversations().path(chatId);
    return path.empty() ? nullptr : window.conversations().tree(chatId).find(path.back());
  }

  FakeEngineHandle fake;
  QSettings settings;
  ui::models::ChatStore store;
  ui::style::Theme theme;
  ui::MainWindow window;
};

}  // namespace tests
