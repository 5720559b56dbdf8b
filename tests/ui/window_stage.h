// The whole window offscreen, for tests: over an engine that a test scripts, or over the real one.
#pragma once

#include <algorithm>
#include <memory>

#include <QApplication>
#include <QElapsedTimer>
#include <QSettings>
#include <QTest>
#include <QTimer>

#include "engine/service/engine_service.h"
#include "engine/service/gguf_model_provider.h"
#include "tests/support/fake_engine_handle.h"
#include "ui/bridge/frame_cost.h"
#include "ui/main_window.h"
#include "ui/panels/chat_list_panel.h"
#include "ui/panels/chat_panel.h"
#include "ui/panels/composer.h"

namespace test_support {

// The first child of the type that is visible; null when there is none.
template <typename T>
T* shown(QWidget& window) {
  for (T* widget : window.findChildren<T*>()) {
    if (widget->isVisible()) return widget;
  }
  return nullptr;
}

// Between two beats of a 20 ms timer: how long the window was deaf, and how long it worked meanwhile.
class Heart : public QObject {
 public:
  Heart() {
    m_timer.setInterval(20);
    m_timer.setTimerType(Qt::PreciseTimer);
    connect(&m_timer, &QTimer::timeout, this, [this] {
      m_longest = std::max(m_longest, m_clock.restart());
      const double workMs = ui::bridge::threadCpuMs();
      m_longestWork = std::max(m_longestWork, workMs - m_workMs);
      m_workMs = workMs;
    });
    m_clock.start();
    m_timer.start();
  }
  qint64 longestMs() const { return m_longest; }
  double longestWorkMs() const { return m_longestWork; }  // of the processor: others do not count

 private:
  QTimer m_timer;
  QElapsedTimer m_clock;
  double m_workMs = ui::bridge::threadCpuMs(), m_longestWork = 0;
  qint64 m_longest = 0;
};

// What the tests of both engines do with the window.
class WindowHands {
 public:
  explicit WindowHands(ui::MainWindow& window) : m_window(window) {}

  void say(const QString& text) {
    m_window.chatPanel().composer().setText(text);
    m_window.chatPanel().send();
  }
  ui::panels::ChatPanel& panel() { return m_window.chatPanel(); }
  const ui::models::MessageRecord* lastMessage() {
    const auto path = m_window.conversations().path(panel().chatId());
    return path.empty() ? nullptr : m_window.conversations().tree(panel().chatId()).find(path.back());
  }

 private:
  ui::MainWindow& m_window;
};

// With a scripted engine: time passes in play() only.
struct Stage {
  explicit Stage(const QString& dir, const QString& chats = {})
      : settings(dir + "/tessera.ini", QSettings::IniFormat),
        store(chats.isEmpty() ? dir + "/chats.sqlite" : chats),
        theme(*qApp),
        window(ui::WindowParts{fake, store, settings, theme}),
        hands(window) {}

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
  void say(const QString& text) { hands.say(text); }
  ui::panels::ChatPanel& panel() { return hands.panel(); }
  const ui::models::MessageRecord* lastMessage() { return hands.lastMessage(); }

  tests::FakeEngineHandle fake;
  QSettings settings;
  ui::models::ChatStore store;
  ui::style::Theme theme;
  ui::MainWindow window;
  WindowHands hands;
};

// With the real engine, which runs as fast as it can.
struct RealStage {
  explicit RealStage(const QString& dir)
      : settings(dir + "/tessera.ini", QSettings::IniFormat),
        store(dir + "/chats.sqlite"),
        theme(*qApp),
        served(makeEngine()),
        window(ui::WindowParts{*served, store, settings, theme}),
        hands(window) {
    window.start({});
    window.show();
    QTest::qWait(50);  // painted once
  }

  static std::unique_ptr<engine::EngineHandle> makeEngine() {
    engine::service::EngineParts parts;
    parts.models = std::make_shared<engine::service::GgufModelProvider>();
    return engine::service::createEngineService(std::move(parts));
  }

  // False with the loader's failure() when it cannot be loaded.
  bool load(const QString& path, std::int64_t kvBlocks = 64, int blockSize = 16) {
    engine::EngineConfig config;
    config.load.modelPath = path.toStdString();
    config.load.kvBlocks = kvBlocks;
    config.load.blockSize = blockSize;
    window.loader().load(config);
    const auto isThere = [this, &path] {
      const auto& live = window.engineBridge().liveSnapshot();
      return !window.loader().failure().isEmpty() ||
             (!window.loader().isLoading() && live && live->model && live->model->path == path.toStdString());
    };
    return QTest::qWaitFor(isThere, 60'000) && window.loader().failure().isEmpty();
  }

  bool waitForAnswers() {
    return QTest::qWaitFor([this] { return window.conversations().numStreaming() == 0; }, 120'000);
  }
  // Says it and waits for the end of the answer, which it returns.
  const ui::models::MessageRecord* ask(const QString& text) {
    hands.say(text);
    return waitForAnswers() ? hands.lastMessage() : nullptr;
  }
  ui::panels::ChatPanel& panel() { return hands.panel(); }

  // Of the chat that is shown: temperature 1 from a fixed seed, end tokens ignored.
  QString draw(std::uint64_t seed, std::int64_t maxTokens, std::vector<std::string> stop = {}) {
    ui::models::ChatSettings wanted = window.conversations().chat(panel().chatId())->settings;
    wanted.sampling = {};
    wanted.sampling.temperature = 1.0f;
    wanted.sampling.ignoreEos = true;
    wanted.sampling.seed = seed;
    wanted.sampling.maxTokens = maxTokens;
    wanted.sampling.stop = std::move(stop);
    wanted.isSeedFixed = true;
    return window.conversations().setSettings(panel().chatId(), wanted);
  }

  QSettings settings;
  ui::models::ChatStore store;
  ui::style::Theme theme;
  std::unique_ptr<engine::EngineHandle> served;
  ui::MainWindow window;
  WindowHands hands;
};

}  // namespace test_support
