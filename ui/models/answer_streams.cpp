#include "ui/models/answer_streams.h"

#include <algorithm>
#include <utility>

#include "ui/models/chat_json.h"

namespace ui::models {

namespace {

double msBetween(std::int64_t fromNs, std::int64_t toNs) {
  return fromNs < 0 || toNs < 0 ? -1 : static_cast<double>(toNs - fromNs) / 1e6;
}

void takeTimes(AnswerStats& stats, const engine::RequestTimes& t) {
  stats.ttftMs = msBetween(t.arrivalNs, t.firstTokenNs);
  const double prefill = msBetween(t.admittedNs, t.prefilledNs);
  stats.prefillMs = prefill >= 0 ? prefill : msBetween(t.admittedNs, t.firstTokenNs);
  stats.decodeMs = msBetween(t.firstTokenNs, t.lastTokenNs);
}

MessageState stateAtEnd(engine::FinishReason reason) {
  switch (reason) {
    case engine::FinishReason::Length: return MessageState::Length;
    case engine::FinishReason::Cancelled: return MessageState::Stopped;
    case engine::FinishReason::Refused:
    case engine::FinishReason::Failed: return MessageState::Failed;
    case engine::FinishReason::None:
    case engine::FinishReason::Stop: break;
  }
  return MessageState::Complete;
}

}  // namespace

AnswerStats statsAtEnd(AnswerStats known, const engine::RequestFinished& finish) {
  known.promptTokens = finish.usage.promptTokens;
  known.cachedTokens = finish.usage.cachedTokens;
  known.completionTokens = finish.usage.completionTokens;
  known.preemptions = finish.preemptions;
  takeTimes(known, finish.times);
  return known;
}

AnswerStreams::AnswerStreams(bridge::EngineBridge& bridge, QObject* parent)
    : QObject(parent), m_bridge(bridge) {
  connect(&bridge, &bridge::EngineBridge::frameReady, this, &AnswerStreams::onFrame);
}

void AnswerStreams::start(qint64 chatId, qint64 messageId, engine::RequestSpec spec) {
  AnswerStream stream;
  stream.chatId = chatId;
  stream.messageId = messageId;
  stream.request = m_bridge.newRequestId();
  spec.id = stream.request;
  stream.stats.sampling = samplingText(spec.sampling);
  stream.stats.prefillChunks = 0;
  stream.spec = std::move(spec);
  const auto& live = m_bridge.liveSnapshot();
  const bool isLoading = live && live->state == engine::EngineState::Loading;
  stream.phase = isLoading ? AnswerPhase::WaitsForModel : AnswerPhase::Queued;
  m_streams.push_back(std::move(stream));
  if (!isLoading) submit(m_streams.back());
  emit progressed(chatId, messageId);
}

void AnswerStreams::submit(AnswerStream& stream) {
  stream.phase = AnswerPhase::Queued;
  m_bridge.send(engine::Submit{stream.spec});
}

void AnswerStreams::stop(qint64 chatId) {
  for (auto& stream : m_streams) {
    if (stream.chatId != chatId) continue;
    if (stream.phase == AnswerPhase::WaitsForModel) {
      end(AnswerStream(stream), MessageState::Stopped, {});
      return;
    }
    stream.phase = AnswerPhase::Stopping;
    m_bridge.send(engine::Cancel{stream.request});
    emit progressed(stream.chatId, stream.messageId);
    return;
  }
}

void AnswerStreams::abandonAll() {
  for (const auto& stream : m_streams) m_bridge.send(engine::Cancel{stream.request});
  m_streams.clear();
}

const AnswerStream* AnswerStreams::ofChat(qint64 chatId) const {
  const auto found = std::find_if(m_streams.begin(), m_streams.end(),
                                  [chatId](const AnswerStream& s) { return s.chatId == chatId; });
  return found == m_streams.end() ? nullptr : &*found;
}

AnswerStream* AnswerStreams::find(engine::RequestId id) {
  const auto found = std::find_if(m_streams.begin(), m_streams.end(),
                                  [id](const AnswerStream& s) { return s.request == id; });
  return found == m_streams.end() ? nullptr : &*found;
}

void AnswerStreams::onFrame(const bridge::Frame& frame) {
  countChunks(frame);
  if (frame.liveSnapshot) followSnapshot(*frame.liveSnapshot);
  for (const auto& message : frame.messages) {
    if (const auto* delta = std::get_if<engine::TextDelta>(&message)) onText(*delta);
    if (const auto* finish = std::get_if<engine::RequestFinished>(&message)) onFinished(*finish);
    if (const auto* failed = std::get_if<engine::LoadFailed>(&message)) {
      failWaiting(QString::fromStdString(failed->error.message));
    }
  }
  // by the state that start() looked at: the message that tells of the model may come a frame before it
  if (frame.liveSnapshot && frame.liveSnapshot->state != engine::EngineState::Loading) submitWaiting();
  // one text signal per answer and frame: views format once, not once a token
  for (auto& [request, text] : std::exchange(m_arrived, {})) {
    if (const AnswerStream* stream = find(engine::RequestId(request)); stream && !text.isEmpty()) {
      emit textArrived(stream->chatId, stream->messageId, text);
    }
  }
  std::vector<std::pair<qint64, qint64>> moved;
  for (const auto& stream : m_streams) moved.emplace_back(stream.chatId, stream.messageId);
  for (const auto& [chatId, messageId] : moved) emit progressed(chatId, messageId);
}

void AnswerStreams::onText(const engine::TextDelta& delta) {
  if (delta.choice != 0) return;  // a conversation goes on with one answer
  AnswerStream* stream = find(delta.request);
  if (!stream) return;
  const QString text = QString::fromStdString(delta.text);
  stream->text += text;
  m_arrived[delta.request.value] += text;
  auto& count = stream->stats.completionTokens;
  count = std::max<qint64>(count, 0) + static_cast<qint64>(delta.tokens.size());
  if (stream->phase != AnswerPhase::Stopping) stream->phase = AnswerPhase::Decoding;
}

void AnswerStreams::onFinished(const engine::RequestFinished& finish) {
  AnswerStream* stream = find(finish.request);
  if (!stream) return;
  if (auto text = m_arrived.find(finish.request.value); text != m_arrived.end()) {
    emit textArrived(stream->chatId, stream->messageId, text->second);
    m_arrived.erase(text);
    stream = find(finish.request);
    if (!stream) return;
  }
  stream->stats = statsAtEnd(stream->stats, finish);
  QString note = QString::fromStdString(finish.explanation);
  if (finish.reason == engine::FinishReason::Length && note.isEmpty()) {
    note = tr("Ended at the limit of %1 tokens for one answer.").arg(stream->spec.sampling.maxTokens);
  }
  end(AnswerStream(*stream), stateAtEnd(finish.reason), note);
}

void AnswerStreams::submitWaiting() {
  for (auto& stream : m_streams) {
    if (stream.phase == AnswerPhase::WaitsForModel) submit(stream);
  }
}

void AnswerStreams::failWaiting(const QString& sentence) {
  std::vector<AnswerStream> failed;
  for (const auto& stream : m_streams) {
    if (stream.phase == AnswerPhase::WaitsForModel) failed.push_back(stream);
  }
  for (const auto& stream : failed) {
    end(stream, MessageState::Failed, tr("The model could not be loaded: %1").arg(sentence));
  }
}

void AnswerStreams::end(const AnswerStream& stream, MessageState state, const QString& note) {
  m_streams.erase(std::remove_if(m_streams.begin(), m_streams.end(),
                                 [&](const AnswerStream& s) { return s.request == stream.request; }),
                  m_streams.end());
  emit finished(AnswerEnd{stream.chatId, stream.messageId, stream.text, state, note, stream.stats});
}

void AnswerStreams::countChunks(const bridge::Frame& frame) {
  if (m_streams.empty()) return;
  for (const auto& event : frame.events) {
    if (event.kind != engine::TraceKind::Slice || event.slice.phase != engine::SlicePhase::Prefill) continue;
    if (AnswerStream* stream = find(engine::RequestId(event.slice.request))) ++stream->stats.prefillChunks;
  }
}

void AnswerStreams::followSnapshot(const engine::EngineSnapshot& snapshot) {
  for (auto& stream : m_streams) {
    const auto found = std::find_if(snapshot.requests.begin(), snapshot.requests.end(),
                                    [&](const auto& r) { return r.id == stream.request; });
    if (found == snapshot.requests.end() || found->state == engine::RequestState::Finished) continue;
    stream.stats.promptTokens = found->promptTokens;
    stream.stats.cachedTokens = found->cachedTokens;
    stream.stats.preemptions = found->preemptions;
    stream.computedTokens = std::min(found->computedTokens, found->promptTokens);
    stream.tokensPerSecond = found->tokensPerSecond;
    stream.stats.kvBlocks = static_cast<int>(found->blocks.size());
    stream.stats.sharedBlocks = static_cast<int>(
        std::count_if(found->blocks.begin(), found->blocks.end(), [&](engine::BlockId id) {
          const auto index = static_cast<std::size_t>(id.value);
          return id.value >= 0 && index < snapshot.blocks.size() && snapshot.blocks[index].refCount > 1;
        }));
    takeTimes(stream.stats, found->times);
    if (stream.phase == AnswerPhase::Stopping) continue;
    if (found->state == engine::RequestState::Prefilling) stream.phase = AnswerPhase::Prefilling;
    if (found->state == engine::RequestState::Decoding) stream.phase = AnswerPhase::Decoding;
  }
}

}  // namespace ui::models
