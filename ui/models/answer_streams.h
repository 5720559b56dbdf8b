// Answers being written: which request writes which message, its text so far and its figures.
#pragma once

#include <QObject>
#include <QString>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ui/bridge/engine_bridge.h"
#include "ui/models/chat_record.h"

namespace ui::models {

enum class AnswerPhase { WaitsForModel, Queued, Prefilling, Decoding, Stopping };

struct AnswerStream {
  qint64 chatId = 0;
  qint64 messageId = 0;
  engine::RequestId request;
  engine::RequestSpec spec;
  AnswerPhase phase = AnswerPhase::Queued;
  QString text;
  AnswerStats stats;
  double tokensPerSecond = 0;
  qint64 computedTokens = 0;  // of promptTokens, while prefilling
};

// How an answer ended.
struct AnswerEnd {
  qint64 chatId = 0;
  qint64 messageId = 0;
  QString text;
  MessageState state = MessageState::Complete;
  QString note;
  AnswerStats stats;
};

// Ui thread only.
class AnswerStreams : public QObject {
  Q_OBJECT

 public:
  // `bridge` must outlive this.
  explicit AnswerStreams(bridge::EngineBridge& bridge, QObject* parent = nullptr);

  // Submits now, or once the model that is loading is there. The spec's id is chosen here.
  void start(qint64 chatId, qint64 messageId, engine::RequestSpec spec);
  // In every phase; the end comes with finished().
  void stop(qint64 chatId);
  // As if the program ended now: forgets all without ends (the store keeps them as interrupted).
  void abandonAll();

  // Null when the chat is not being answered.
  const AnswerStream* ofChat(qint64 chatId) const;
  const std::vector<AnswerStream>& all() const { return m_streams; }

 signals:
  void textArrived(qint64 chatId, qint64 messageId, const QString& delta);
  // Phase or figures moved; at most once a frame and answer.
  void progressed(qint64 chatId, qint64 messageId);
  void finished(const ui::models::AnswerEnd& end);

 private:
  void onFrame(const bridge::Frame& frame);
  void onText(const engine::TextDelta& delta);
  void onFinished(const engine::RequestFinished& finish);
  void submitWaiting();
  void failWaiting(const QString& sentence);
  void countChunks(const bridge::Frame& frame);
  void followSnapshot(const engine::EngineSnapshot& snapshot);
  void submit(AnswerStream& stream);
  AnswerStream* find(engine::RequestId id);
  void end(const AnswerStream& stream, MessageState state, const QString& note);

  bridge::EngineBridge& m_bridge;
  std::vector<AnswerStream> m_streams;
  std::unordered_map<std::uint64_t, QString> m_arrived;  // text of this frame, by request
};

// Figures that the end of a request carries; the rest of `known` stays.
AnswerStats statsAtEnd(AnswerStats known, const engine::RequestFinished& finish);

}  // namespace ui::models
