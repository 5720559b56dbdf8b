#include "ui/models/traffic_run.h"

#include <algorithm>

#include "ui/bridge/engine_bridge.h"

namespace ui::models {

namespace {

constexpr int kLookMs = 10;  // how exactly arrivals are met

// Everyday words: what they are tokenised to is plain text in any vocabulary.
constexpr const char* kWords =
    "The river runs slowly past the old mill, and in the evening people sit on its stones and talk about the day. "
    "Some have walked here from the town; others came by boat and bring bread, apples and a little wine. Children "
    "look for round pebbles, throw them far out, and count how often each one jumps before it sinks. When it gets "
    "dark, lamps are lit along the path, someone begins to sing, and the water carries the song down to the sea. "
    "Numbers such as 12, 45 and 678 appear too, for lists of tiles: red, green, blue, white, black and yellow ones.";

double toMs(std::int64_t ns) { return static_cast<double>(ns) / 1e6; }

}  // namespace

TrafficRun::TrafficRun(bridge::EngineBridge& bridge, TrafficDraw draw, QObject* parent)
    : QObject(parent), m_bridge(bridge), m_draw(std::move(draw)) {
  m_timer.setTimerType(Qt::PreciseTimer);
  m_timer.setInterval(kLookMs);
  connect(&m_timer, &QTimer::timeout, this, &TrafficRun::sendDue);
  connect(&m_bridge, &bridge::EngineBridge::frameReady, this, &TrafficRun::onFrame);
}

QString TrafficRun::start(const TrafficSpec& spec) {
  if (m_isRunning) return tr("Traffic is running already.");
  if (!m_draw) return tr("This window draws no traffic.");
  if (!m_bridge.capabilities().canSubmit) return tr("A recorded run takes no requests.");
  const auto& live = m_bridge.liveSnapshot();
  if (!live || !live->model) return tr("Open a model first; traffic goes through the engine.");
  if (const auto tried = m_draw(spec, {0}); !tried) return QString::fromStdString(tried.error().message);
  m_spec = spec;
  m_isRunning = true;
  m_isStopping = false;
  emit changed();
  m_bridge.ask(engine::TokenizeQuery{kWords}, this, [this](const engine::QueryAnswer& answer) {
    const auto* ids = std::get_if<std::vector<engine::TokenId>>(&answer.answer);
    if (ids && !m_isStopping) return begin(*ids);
    m_isRunning = false;
    if (const auto* error = std::get_if<engine::Error>(&answer.answer)) emit failed(QString::fromStdString(error->message));
    emit changed();
  });
  return {};
}

void TrafficRun::begin(const std::vector<engine::TokenId>& words) {
  std::vector<engine::TokenId> alphabet(words);
  if (alphabet.size() > 1) alphabet.erase(alphabet.begin());  // may be the vocabulary's own beginning
  std::ranges::sort(alphabet);
  alphabet.erase(std::unique(alphabet.begin(), alphabet.end()), alphabet.end());
  auto plan = m_draw(m_spec, alphabet);
  if (!plan) {
    m_isRunning = false;
    emit failed(QString::fromStdString(plan.error().message));
    emit changed();
    return;
  }
  m_plan = std::move(*plan);
  m_requests.clear();
  m_indexOf.clear();
  m_byId.clear();
  m_next = m_numRunning = 0;
  m_endNs = -1;
  m_startNs = m_bridge.nowNs();
  if (m_spec.isClosed()) {
    for (m_next = 0; m_next < std::min(m_spec.users, m_plan->size()); ++m_next) send(m_next);
  } else {
    m_timer.start();
    sendDue();
  }
  emit changed();
}

void TrafficRun::sendDue() {
  const double nowMs = toMs(m_bridge.nowNs() - m_startNs);
  while (m_next < m_plan->size() && m_plan->atMs(m_next) <= nowMs) send(m_next++);
  if (m_next >= m_plan->size()) m_timer.stop();
}

void TrafficRun::send(std::int64_t index) {
  engine::RequestSpec spec = m_plan->request(index);
  spec.id = m_bridge.newRequestId();
  const std::int64_t user = m_spec.isClosed() ? index % m_spec.users : index;
  spec.label = "user " + std::to_string(user + 1);
  spec.slo = m_spec.slo;
  TrafficRequest request;
  request.id = spec.id;
  request.label = QString::fromStdString(spec.label);
  m_byId.emplace(spec.id.value, m_requests.size());
  m_requests.push_back(std::move(request));
  m_indexOf.push_back(index);
  ++m_numRunning;
  m_bridge.send(engine::Submit{std::move(spec)});
}

void TrafficRun::stop() {
  if (!m_isRunning || m_isStopping) return;
  m_isStopping = true;
  m_timer.stop();
  for (const auto& [id, place] : m_byId) m_bridge.send(engine::Cancel{engine::RequestId(id)});
  endIfDone();
  emit changed();
}

void TrafficRun::onFrame(const bridge::Frame& frame) {
  if (!m_isRunning) return;
  for (const auto& message : frame.messages) {
    if (const auto* finished = std::get_if<engine::RequestFinished>(&message)) onFinished(*finished);
  }
}

bool TrafficRun::meets(const TrafficRequest& request) const {
  const auto& slo = m_spec.slo;
  return (!slo.ttftMs || request.ttftMs <= *slo.ttftMs) && (!slo.tpotMs || request.tpotMs <= *slo.tpotMs);
}

void TrafficRun::onFinished(const engine::RequestFinished& finished) {
  const auto found = m_byId.find(finished.request.value);
  if (found == m_byId.end()) return;
  const std::size_t place = found->second;
  m_byId.erase(found);
  --m_numRunning;
  TrafficRequest& request = m_requests[place];
  const engine::RequestTimes& times = finished.times;
  request.promptTokens = finished.usage.promptTokens;
  request.outputTokens = finished.usage.completionTokens;
  if (times.firstTokenNs >= 0) request.ttftMs = toMs(times.firstTokenNs - times.arrivalNs);
  if (request.outputTokens > 1) {
    request.tpotMs = toMs(times.lastTokenNs - times.firstTokenNs) / static_cast<double>(request.outputTokens - 1);
  }
  using State = TrafficRequest::State;
  switch (finished.reason) {
    case engine::FinishReason::Refused: request.state = State::Refused; break;
    case engine::FinishReason::Failed: request.state = State::Failed; break;
    case engine::FinishReason::Cancelled: request.state = State::Stopped; break;
    default: request.state = State::Done;
  }
  request.why = QString::fromStdString(finished.explanation);
  request.meetsSlo = request.state == State::Done && meets(request);
  m_endNs = m_bridge.nowNs();
  const std::int64_t next = m_indexOf[place] + m_spec.users;
  if (m_spec.isClosed() && !m_isStopping && next < m_plan->size()) send(next);
  endIfDone();
  emit changed();
}

void TrafficRun::endIfDone() {
  const bool isAllSent = !m_plan || m_isStopping || m_spec.isClosed() || m_next >= m_plan->size();
  if (m_numRunning == 0 && isAllSent) m_isRunning = false;
}

TrafficFigures TrafficRun::figures() const {
  TrafficFigures all;
  all.planned = m_plan ? m_plan->size() : 0;
  all.sent = static_cast<std::int64_t>(m_requests.size());
  all.running = m_numRunning;
  for (const TrafficRequest& request : m_requests) {
    all.done += request.state == TrafficRequest::State::Done;
    all.refused += request.state == TrafficRequest::State::Refused;
    all.failed += request.state == TrafficRequest::State::Failed;
    all.good += request.meetsSlo;
    all.outputTokens += request.outputTokens;
  }
  const std::int64_t until = m_isRunning ? m_bridge.nowNs() : m_endNs;
  if (m_plan && until >= 0) all.seconds = static_cast<double>(until - m_startNs) / 1e9;
  return all;
}

}  // namespace ui::models
