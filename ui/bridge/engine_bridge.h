// The window's only way to the engine: one timer pulls, makes a Frame and hands it to all; commands go back.
#pragma once

#include <QObject>
#include <QTimer>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>

#include "engine/api/engine_handle.h"
#include "ui/bridge/frame.h"
#include "ui/bridge/frame_cost.h"

namespace ui::bridge {

// Ui thread only. Never waits for the engine.
class EngineBridge : public QObject {
  Q_OBJECT

 public:
  using AnswerCallback = std::function<void(const engine::QueryAnswer&)>;

  // `handle` must outlive the bridge.
  explicit EngineBridge(engine::EngineHandle& handle, QObject* parent = nullptr);

  void start();
  void stop();
  // Pulls now, outside the timer's pace (tests, scripted runs, the last look before closing).
  void pull();

  // From now on this one is looked at; it must outlive the bridge or the next change. Views begin anew.
  void showEngine(engine::EngineHandle& handle);

  engine::EngineCapabilities capabilities() const { return m_handle->capabilities(); }
  // Null unless a recorded run is looked at.
  engine::ReplayControl* replay() const { return m_handle->replayControl(); }
  // Forwards or backwards; the next frame, made at once, shows the run there.
  void seekReplay(std::int64_t ns);
  void send(engine::Command command);
  engine::RequestId newRequestId() { return engine::RequestId(m_nextRequest++); }
  // The answer comes with a later frame, or as an Error when another engine is shown first; dropped when
  // `context` is gone by then.
  void ask(decltype(engine::Query::question) question, QObject* context, AnswerCallback onAnswer);

  // The last frame's (see Frame). Null before the engine's first publication.
  const std::shared_ptr<const engine::EngineSnapshot>& snapshot() const { return m_shown; }
  const std::shared_ptr<const engine::EngineSnapshot>& liveSnapshot() const { return m_live; }
  std::int64_t nowNs() const { return m_handle->nowNs(); }

  // Pausing the view holds `snapshot` still; the engine goes on (Pause is the engine's own).
  bool isViewPaused() const { return m_isViewPaused; }
  void setViewPaused(bool paused);

  // With no window to be seen, only messages are worth a look, twice a second.
  void setWindowVisible(bool visible);

  // Processor milliseconds of painting and other work that belongs to a frame but happens after frameReady.
  void addPaintMs(double ms) { m_paintMs += ms; }
  const FrameCost& cost() const { return m_cost; }
  double framesPerSecond() const { return m_framesPerSecond; }
  std::uint64_t numLostEvents() const { return m_lostEvents; }

 signals:
  // Another engine is looked at: other capabilities.
  void engineChanged();
  // A frame with something new in it; idle engines cause none.
  void frameReady(const ui::bridge::Frame& frame);
  void viewPausedChanged(bool paused);
  // Once a second, with or without frames.
  void costMeasured();

 private:
  void collect(Frame& frame);
  void answerQueries(const Frame& frame);
  void answerQuery(const engine::QueryAnswer& answer);
  void dropQueries();
  void updatePace();

  struct PendingQuery {
    QObject* context;
    QMetaObject::Connection destroyed;
    AnswerCallback onAnswer;
  };

  engine::EngineHandle* m_handle;
  QTimer m_timer;
  QTimer m_secondTimer;
  std::shared_ptr<const engine::EngineSnapshot> m_shown, m_live;
  std::unordered_map<std::uint64_t, PendingQuery> m_queries;
  FrameCost m_cost;
  std::uint64_t m_frameIndex = 0, m_framesThisSecond = 0;
  std::uint64_t m_lostEvents = 0;
  std::uint64_t m_nextRequest = 1, m_nextQuery = 1;
  std::int64_t m_lastNowNs = 0;
  double m_paintMs = 0, m_framesPerSecond = 0;
  bool m_isViewPaused = false, m_isWindowVisible = true, m_isPulling = false, m_hasRestarted = false;
};

}  // namespace ui::bridge
