#include "ui/models/replay_texts.h"

#include <QCoreApplication>
#include <QStringList>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <variant>

#include "engine/api/replay_control.h"
#include "engine/api/sampling_params.h"

namespace ui::models {

QString readableConversation(const std::string& json) {
  const auto document = nlohmann::json::parse(json, nullptr, false);
  const auto messages = document.is_object() ? document.find("messages") : document.end();
  if (!document.is_object() || messages == document.end() || !messages->is_array()) return QString::fromStdString(json);
  QStringList turns;
  for (const auto& message : *messages) {
    if (!message.is_object()) continue;
    const auto text = [&](const char* key) {
      const auto found = message.find(key);
      return found == message.end() ? QString() : QString::fromStdString(found->is_string() ? found->get<std::string>() : found->dump());
    };
    turns << QStringLiteral("%1: %2").arg(text("role"), text("content"));
  }
  return turns.join(QStringLiteral("\n\n"));
}

namespace {

void appendText(ReplayText& text, const engine::TextDelta& delta) {
  const QString piece = QString::fromStdString(delta.text);
  if (delta.choice == 0) {
    text.answer += piece;
  } else if (delta.choice > 0 && delta.choice < engine::kMaxChoices) {
    while (text.others.size() < delta.choice) text.others.append(QString());
    text.others[delta.choice - 1] += piece;
  }
}

}  // namespace

const ReplayText* ReplayTexts::find(engine::RequestId id) const {
  const auto at = std::ranges::find(m_texts, id, &ReplayText::id);
  return at == m_texts.end() ? nullptr : &*at;
}

ReplayText& ReplayTexts::textOf(engine::RequestId id, const engine::ReplayControl& replay) {
  if (const ReplayText* known = find(id)) return m_texts[static_cast<std::size_t>(known - m_texts.data())];
  ReplayText text;
  text.id = id;
  text.label = QCoreApplication::translate("ui::models::ReplayTexts", "request %1").arg(id.value);
  if (const auto prompt = replay.promptOf(id)) {
    if (!prompt->label.empty()) text.label = QString::fromStdString(prompt->label);
    text.prompt = prompt->isConversation ? readableConversation(prompt->text) : QString::fromStdString(prompt->text);
  }
  m_texts.push_back(std::move(text));
  return m_texts.back();
}

bool ReplayTexts::take(const bridge::Frame& frame, const engine::ReplayControl& replay) {
  bool hasChanged = frame.hasRestarted;
  if (frame.hasRestarted) clear();
  for (const auto& message : frame.messages) {
    if (const auto* started = std::get_if<engine::RequestStarted>(&message)) {
      ReplayText& text = textOf(started->request, replay);
      text.answer.clear();  // it begins again
      text.others.clear();
      text.isFinished = false;
    } else if (const auto* delta = std::get_if<engine::TextDelta>(&message)) {
      appendText(textOf(delta->request, replay), *delta);
    } else if (const auto* finished = std::get_if<engine::RequestFinished>(&message)) {
      ReplayText& text = textOf(finished->request, replay);
      text.isFinished = true;
      text.note = QString::fromStdString(finished->explanation);
    } else {
      continue;
    }
    hasChanged = true;
  }
  return hasChanged;
}

}  // namespace ui::models
