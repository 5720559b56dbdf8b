// What a recorded run's requests asked and were answered, as far as it has played.
#pragma once

#include <QString>
#include <QStringList>
#include <vector>

#include "ui/bridge/frame.h"

namespace engine {
class ReplayControl;
}

namespace ui::models {

struct ReplayText {
  engine::RequestId id;
  QString label;
  QString prompt;      // readable: a conversation's turns, or the raw text; empty when not recorded
  QString answer;      // so far; of several, the first
  QStringList others;  // its further answers so far
  bool isFinished = false;
  QString note;        // why it ended early
};

// Ui thread only.
class ReplayTexts {
 public:
  // Takes what a frame of a recorded run tells; true when something changed.
  bool take(const bridge::Frame& frame, const engine::ReplayControl& replay);
  void clear() { m_texts.clear(); }
  const std::vector<ReplayText>& all() const { return m_texts; }  // by first mention
  const ReplayText* find(engine::RequestId id) const;

 private:
  ReplayText& textOf(engine::RequestId id, const engine::ReplayControl& replay);

  std::vector<ReplayText> m_texts;
};

// "user: …" and so on, a line between turns; the JSON itself when it is no conversation.
QString readableConversation(const std::string& json);

}  // namespace ui::models
