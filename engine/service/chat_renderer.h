// Binds a model's chat template and vocabulary to the conversations that front ends send.
#pragma once

#include <functional>
#include <string>

#include "engine/api/request.h"
#include "engine/base/result.h"
#include "engine/text/origin_text.h"
#include "engine/text/vocabulary.h"

namespace engine::service {

struct ChatRenderer {
  // The request's own template when it brings one, else the model's. Unsupported without either.
  std::function<Result<text::OriginText>(const ChatPrompt&)> render;
  bool hasTemplate = false;  // of the model
  bool readsTools = false;   // the model's template does
  std::string note;          // where it is not the file's own: ChatTemplate::note()
};

ChatRenderer makeChatRenderer(const text::Vocabulary& vocabulary);

}  // namespace engine::service
