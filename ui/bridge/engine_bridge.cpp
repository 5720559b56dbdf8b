#include "ui/bridge/engine_bridge.h"

#include <utility>
#include <variant>
#include <vector>

namespace ui::bridge {

namespace {

constexpr int kHiddenIntervalMs = 500;

}  // namespace

EngineBridge::EngineBridge(engine::EngineHandle& handle, QObject* parent)
    : QObject(parent), m_handle(&handle) {
  m_timer.setTimerType(Qt::PreciseTimer);
  m_timer.setInterval(FrameCost::kFastestIntervalMs);
  connect(&m_timer, &QTimer::timeout, this, &EngineBridge::pull);
  m_secondTimer.setInterval(1000);
  connect(&m_secondTimer, &QTimer::timeout, this, [this] {
    m_framesPerSecond = static_cast<double>(std::exchange(m_framesThisSecond, 0));
    emit costMeasured();
    m_cost.resetWorst();
  });
}

void EngineBridge::start() {
  m_timer.start();
  m_secondTimer.start();
}

void EngineBridge::stop() {
  m_timer.stop();
  m_secondTimer.stop();
}

void EngineBridge::showEngine(engine::EngineHandle& handle) {
  m_handle = &handle;
  m_live = m_shown = nullptr;
  m_lostEvents = handle.numLostEvents();
  m_lastNowNs = handle.nowNs();
  m_hasRestarted = true;
  setViewPaused(false);
  dropQueries();
  emit engineChanged();
  pull();
}

// The engine that was asked is not listened to any more.
void EngineBridge::dropQueries() {
  std::vector<std::uint64_t> ids;
  for (const auto& [id, pending] : m_queries) ids.push_back(id);
  for (const std::uint64_t id : ids) {
    answerQuery({engine::QueryId(id), engine::Error{engine::ErrorCode::Cancelled, "another engine is looked at"}});
  }
}

void EngineBridge::seekReplay(std::int64_t ns) {
  engine::ReplayControl* control = replay();
  if (!control) return;
  m_hasRestarted = m_hasRestarted || ns < control->positionNs();
  control->seekNs(ns);
  pull();
}

void EngineBridge::send(engine::Command command) { m_handle->submit(std::move(command)); }

void EngineBridge::ask(decltype(engine::Query::question) question,
                       QObject* context,
                       AnswerCallback onAnswer) {
  const std::uint64_t id = m_nextQuery++;
  auto forget = connect(context, &QObject::destroyed, this, [this, id] { m_queries.erase(id); });
  m_queries.emplace(id, PendingQuery{context, forget, std::move(onAnswer)});
  m_handle->submit(engine::Query{engine::QueryId(id), std::move(question)});
}

void EngineBridge::setViewPaused(bool paused) {
  if (paused == m_isViewPaused) return;
  m_isViewPaused = paused;
  emit viewPausedChanged(paused);
  pull();
}

void EngineBridge::setWindowVisible(bool visible) {
  if (visible == m_isWindowVisible) return;
  m_isWindowVisible = visible;
  updatePace();
  if (visible) pull();
}

void EngineBridge::collect(Frame& frame) {
  m_handle->drainMessages(frame.messages);
  m_handle->drainEvents(frame.events);
  const std::uint64_t lost = m_handle->numLostEvents();
  frame.newlyLostEvents = lost - std::exchange(m_lostEvents, lost);
  frame.lostEvents = lost;
  auto latest = m_handle->latestSnapshot();
  const bool isNew = latest && (!m_live || latest->version != m_live->version);
  if (isNew) m_live = std::move(latest);
  frame.isSnapshotNew = !m_isViewPaused && m_shown != m_live;
  if (!m_isViewPaused) m_shown = m_live;
  frame.snapshot = m_shown;
  frame.liveSnapshot = m_live;
  frame.isViewPaused = m_isViewPaused;
  frame.nowNs = m_handle->nowNs();
  // a recording that is played again from its end goes back by itself
  frame.hasRestarted = std::exchange(m_hasRestarted, false) || frame.nowNs < m_lastNowNs;
  m_lastNowNs = frame.nowNs;
}

void EngineBridge::pull() {
  if (m_isPulling) return;  // a slot that runs an event loop must not start a frame inside a frame
  m_isPulling = true;
  const double startMs = threadCpuMs();
  Frame frame;
  const auto liveBefore = m_live;
  collect(frame);
  const bool isWorthShowing = frame.isSnapshotNew || liveBefore != m_live || !frame.messages.empty() ||
                              !frame.events.empty() || frame.newlyLostEvents > 0 || frame.hasRestarted;
  if (isWorthShowing) {
    frame.index = ++m_frameIndex;
    ++m_framesThisSecond;
    answerQueries(frame);
    emit frameReady(frame);
    m_cost.addFrame(threadCpuMs() - startMs + std::exchange(m_paintMs, 0.0));
    updatePace();
  }
  m_isPulling = false;
}

void EngineBridge::answerQueries(const Frame& frame) {
  for (const auto& message : frame.messages) {
    if (const auto* answer = std::get_if<engine::QueryAnswer>(&message)) answerQuery(*answer);
  }
}

void EngineBridge::answerQuery(const engine::QueryAnswer& answer) {
  auto found = m_queries.find(answer.id.value);
  if (found == m_queries.end()) return;
  PendingQuery pending = std::move(found->second);
  m_queries.erase(found);
  disconnect(pending.destroyed);
  pending.onAnswer(answer);
}

void EngineBridge::updatePace() {
  const int interval = m_isWindowVisible ? m_cost.intervalMs() : kHiddenIntervalMs;
  if (m_timer.interval() != interval) m_timer.setInterval(interval);
}

}  // namespace ui::bridge
