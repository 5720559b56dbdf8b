// Many synthetic users through the same engine as everyone: who is sent when, and what came of it.
#pragma once

#include <QObject>
#include <QString>
#include <QTimer>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/api/request.h"
#include "engine/base/result.h"
#include "ui/bridge/frame.h"

namespace ui::bridge {
class EngineBridge;
}

namespace ui::models {

// As typed; lengths and arrivals as the command line writes them.
struct TrafficSpec {
  std::string arrival = "closed";
  std::int64_t users = 8;
  std::int64_t rounds = 4;  // closed only: questions of each user, one after another
  double ratePerSecond = 2, burstiness = 0.5;
  std::string promptLengths = "lognormal:4.2:0.6", outputLengths = "lognormal:3.7:0.5";
  std::int64_t sharedPrefix = 0;
  std::uint64_t seed = 0;
  engine::SloTarget slo;

  bool isClosed() const { return arrival == "closed"; }
};

// What was drawn from a TrafficSpec.
class TrafficPlan {
 public:
  virtual ~TrafficPlan() = default;
  virtual std::int64_t size() const = 0;
  virtual double atMs(std::int64_t index) const = 0;
  // Prompt and sampling; the run adds id, label and SLO.
  virtual engine::RequestSpec request(std::int64_t index) const = 0;
};

// `alphabet`: ids of plain text of the loaded model. InvalidArgument in the words of the command line.
using TrafficDraw = std::function<engine::Result<std::shared_ptr<const TrafficPlan>>(
    const TrafficSpec& spec, const std::vector<engine::TokenId>& alphabet)>;

struct TrafficRequest {
  enum class State { Running, Done, Refused, Failed, Stopped };
  engine::RequestId id;
  QString label;
  State state = State::Running;
  std::int64_t promptTokens = 0, outputTokens = 0;
  double ttftMs = -1, tpotMs = -1;  // -1: did not come to it
  bool meetsSlo = false;
  QString why;  // of a refusal or failure
};

struct TrafficFigures {
  std::int64_t planned = 0, sent = 0, running = 0, done = 0, refused = 0, failed = 0, good = 0, outputTokens = 0;
  double seconds = 0;  // from the start to now, or to the last end
  double goodput() const { return seconds > 0 ? static_cast<double>(good) / seconds : 0; }
  double throughput() const { return seconds > 0 ? static_cast<double>(done) / seconds : 0; }
};

// Ui thread only. One run at a time.
class TrafficRun : public QObject {
  Q_OBJECT

 public:
  // `bridge` must outlive the run.
  TrafficRun(bridge::EngineBridge& bridge, TrafficDraw draw, QObject* parent = nullptr);

  // Asks the engine for plain words, then begins. One sentence when it cannot; later ones by failed().
  QString start(const TrafficSpec& spec);
  // No more are sent; those under way are cancelled.
  void stop();
  bool isRunning() const { return m_isRunning; }

  TrafficFigures figures() const;
  const std::vector<TrafficRequest>& requests() const { return m_requests; }

 signals:
  void changed();
  void failed(const QString& sentence);

 private:
  void begin(const std::vector<engine::TokenId>& words);
  void onFrame(const bridge::Frame& frame);
  void onFinished(const engine::RequestFinished& finished);
  void sendDue();
  void send(std::int64_t index);
  void endIfDone();
  bool meets(const TrafficRequest& request) const;

  bridge::EngineBridge& m_bridge;
  TrafficDraw m_draw;
  TrafficSpec m_spec;
  std::shared_ptr<const TrafficPlan> m_plan;
  std::vector<TrafficRequest> m_requests;  // by index of the plan, as far as sent
  std::unordered_map<std::uint64_t, std::size_t> m_byId;  // those under way
  std::vector<std::int64_t> m_indexOf;     // in the plan, of each sent request
  std::int64_t m_next = 0;                 // of an open plan
  std::int64_t m_startNs = 0, m_endNs = -1, m_numRunning = 0;
  QTimer m_timer;
  bool m_isRunning = false, m_isStopping = false;
};

}  // namespace ui::models
