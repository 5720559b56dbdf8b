#include "tests/support/engine_client.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>
#include <variant>

namespace test_support {

using namespace engine;

RequestSpec textRequest(const std::string& prompt, const SamplingParams& sampling) {
  RequestSpec spec;
  spec.prompt = TextPrompt{prompt};
  spec.sampling = sampling;
  return spec;
}

bool EngineClient::load(const EngineConfig& config) {
  const std::size_t loaded = loadedPaths.size(), failed = loadFailures.size();
  send(LoadModel{config});
  waitFor([&] { return loadedPaths.size() > loaded || loadFailures.size() > failed; });
  return loadedPaths.size() > loaded;
}

RequestId EngineClient::submit(RequestSpec spec) {
  spec.id = RequestId(m_nextId++);
  m_requests[spec.id];
  const RequestId id = spec.id;
  send(Submit{std::move(spec)});
  return id;
}

RequestId EngineClient::submit(const std::string& prompt, const SamplingParams& sampling) {
  return submit(textRequest(prompt, sampling));
}

bool EngineClient::waitFor(const std::function<bool()>& isTrue, int limitMs) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::milliseconds(limitMs);
  for (;;) {
    take();
    if (isTrue()) {
      take();  // what came before a snapshot may have come after the messages were taken
      return true;
    }
    if (std::chrono::steady_clock::now() > limit) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(300));
  }
}

bool EngineClient::waitForEnd(RequestId id, int limitMs) {
  return waitFor([&] { return m_requests[id].numFinished > 0; }, limitMs);
}

bool EngineClient::waitForAll(int limitMs) {
  const auto isEnded = [](const auto& entry) { return entry.second.numFinished > 0; };
  return waitFor([&] { return std::all_of(m_requests.begin(), m_requests.end(), isEnded); },
                 limitMs);
}

bool EngineClient::waitForState(EngineState state, int limitMs) {
  const auto isThere = [&] {
    const auto latest = snapshot();
    return latest && latest->state == state && latest->timeNs >= m_lastEndNs;
  };
  return waitFor(isThere, limitMs);
}

void EngineClient::take() {
  std::vector<EngineMessage> messages;
  m_engine->drainMessages(messages);
  for (EngineMessage& message : messages) {
    std::visit([this](auto& m) { on(m); }, message);
  }
  m_engine->drainEvents(events);
}

void EngineClient::on(TextDelta& message) {
  ClientRequest& whole = m_requests[message.request];
  const auto choice = static_cast<std::size_t>(message.choice);
  if (whole.others.size() < choice) whole.others.resize(choice);
  ClientAnswer& request =
      choice == 0 ? static_cast<ClientAnswer&>(whole) : whole.others[choice - 1];
  request.text += message.text;
  request.pieces.push_back(message.text);
  for (SampledToken& token : message.tokens) {
    request.ids.push_back(token.id);
    request.logprobs.push_back(token.logprob);
    request.rowHashes.push_back(token.rowHash);
    request.top.push_back(std::move(token.top));
  }
}

void EngineClient::on(RequestStarted& message) {
  m_requests[message.request].isStarted = true;
  m_requests[message.request].promptIds = message.promptIds;
}

void EngineClient::on(RequestFinished& message) {
  ClientRequest& request = m_requests[message.request];
  ++request.numFinished;
  request.finished = message;
  m_lastEndNs = std::max(m_lastEndNs, message.times.finishedNs);
}

}  // namespace test_support
