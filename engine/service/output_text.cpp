#include "engine/service/output_text.h"

#include <algorithm>

namespace engine::service {

OutputText::OutputText(const text::Tokenizer& tokenizer, const SamplingParams& params)
    : m_tokenizer(&tokenizer),
      m_ignoreEos(params.ignoreEos),
      m_decoder(tokenizer),
      m_stops(params.stop) {}

bool OutputText::isEnd(TokenId id) const {
  return !m_ignoreEos && std::ranges::binary_search(m_tokenizer->endOfGeneration(), id);
}

OutputText::Piece OutputText::feed(TokenId id) {
  if (isEnd(id)) return {finish(), true};
  std::string text = m_stops.push(m_decoder.feed(id));
  return {std::move(text), m_stops.isStopped()};
}

std::string OutputText::finish() {
  return m_stops.isStopped() ? std::string() : m_stops.finish();
}

}  // namespace engine::service
