// One request's tokens to the text that may be shown, and whether it has come to its end.
#pragma once

#include <string>
#include <vector>

#include "engine/api/sampling_params.h"
#include "engine/base/ids.h"
#include "engine/text/stop_matcher.h"
#include "engine/text/stream_decoder.h"
#include "engine/text/tokenizer.h"

namespace engine::service {

// Engine thread only; a copy goes on by itself. The tokenizer must outlive it.
class OutputText {
 public:
  struct Piece {
    std::string text;     // whole characters, nothing that could still become a stop string
    bool isStop = false;  // an end-of-generation token or a stop string
  };

  OutputText(const text::Tokenizer& tokenizer, const SamplingParams& params);

  Piece feed(TokenId id);
  // What was held back, at an end other than a stop string. An unfinished character is left out.
  std::string finish();

  // Whether this token ends the answer.
  bool isEnd(TokenId id) const;

 private:
  const text::Tokenizer* m_tokenizer;
  bool m_ignoreEos;
  text::StreamDecoder m_decoder;
  text::StopMatcher m_stops;
};

}  // namespace engine::service
