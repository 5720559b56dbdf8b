#include "engine/sample/token_history.h"

namespace engine::sample {

TokenHistory::TokenHistory(std::span<const TokenId> prompt) {
  for (const TokenId id : prompt) m_uses[id].isInPrompt = true;
}

void TokenHistory::append(TokenId id) {
  ++m_uses[id].outputCount;
  m_output.push_back(id);
}

void TokenHistory::rollback(std::size_t count) {
  for (; count > 0 && !m_output.empty(); --count) {
    const auto use = m_uses.find(m_output.back());
    if (--use->second.outputCount == 0 && !use->second.isInPrompt) m_uses.erase(use);
    m_output.pop_back();
  }
}

}  // namespace engine::sample
