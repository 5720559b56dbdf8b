// Chats and their messages as plain values, as the store keeps them.
#pragma once

#include <QString>
#include <QtGlobal>

#include "engine/api/sampling_params.h"

namespace ui::models {

enum class MessageRole { User, Assistant, Tool };  // Tool: what a called tool gave, typed by the user

enum class MessageState {
  Complete,
  Streaming,    // being written now
  Interrupted,  // the program ended while it was being written
  Stopped,      // by the user
  Length,       // ended at max tokens or at a full context
  Failed,       // refused or failed; `note` says why
};

// Figures of one answer, from the engine's own clock. -1 = unknown.
struct AnswerStats {
  qint64 promptTokens = -1, cachedTokens = -1, completionTokens = -1;
  double ttftMs = -1;     // arrival to first token
  double prefillMs = -1;  // admission to the end of the prompt's computation
  double decodeMs = -1;   // first to last token
  int prefillChunks = -1;
  int kvBlocks = -1, sharedBlocks = -1;
  int preemptions = 0;
  QString sampling;  // "T 0.7 · top-p 0.9 · seed 42"

  // Tokens after the first per second of decoding; -1 when there were fewer than two.
  double tokensPerSecond() const {
    return completionTokens > 1 && decodeMs > 0 ? 1000.0 * double(completionTokens - 1) / decodeMs : -1;
  }
};

struct MessageRecord {
  qint64 id = 0;
  qint64 chatId = 0;
  qint64 parentId = 0;  // 0 = the first of its chat; messages with one parent are branches
  MessageRole role = MessageRole::User;
  MessageState state = MessageState::Complete;
  QString text;
  QString note;  // one sentence, for Failed and Length
  AnswerStats stats;
  qint64 createdMs = 0;
};

struct ChatSettings {
  engine::SamplingParams sampling;
  bool isSeedFixed = false;  // otherwise every answer draws a new seed
  QString toolsJson;         // a JSON list of tools offered to the model; empty = none

  friend bool operator==(const ChatSettings&, const ChatSettings&) = default;
};

// A question or a tool's result that is being typed at a place inside the conversation.
struct PendingEdit {
  qint64 messageId = 0;  // the question that is asked anew, or the answer whose tool call has a result
  QString text;
};

// What a new chat starts with: lively, but bounded.
ChatSettings defaultChatSettings();

struct ChatRecord {
  qint64 id = 0;
  QString title;
  QString systemPrompt;
  ChatSettings settings;
  qint64 leafId = 0;  // the end of the branch that is shown; 0 = empty
  QString draft;      // typed, not sent
  qint64 createdMs = 0, updatedMs = 0;
  int numMessages = 0;
  int numBranches = 1;  // leaves of the tree
};

}  // namespace ui::models
