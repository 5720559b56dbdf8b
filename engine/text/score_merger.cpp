#include "engine/text/score_merger.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <queue>
#include <unordered_set>

#include "engine/base/pace.h"
#include "engine/text/sentencepiece_model.h"
#include "engine/text/utf8.h"
#include "engine/text/vocabulary_tokenizer.h"

namespace engine::text {

namespace {

std::uint64_t pairKey(TokenId left, TokenId right) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 | static_cast<std::uint32_t>(right);
}

// A pair waiting to be merged; void once either symbol has changed.
struct Candidate {
  std::int32_t at = 0;  // index of the left symbol
  TokenId left = -1, right = -1, merged = -1;

  // std::priority_queue puts the greatest on top.
  bool operator<(const Candidate& other) const { return at > other.at; }
};

// Candidates of one rank, leftmost first. Nearly all come from left to right: those need no heap.
class RankQueue {
 public:
  bool isEmpty() const { return m_head == m_inOrder.size() && m_late.empty(); }

  void push(const Candidate& candidate) {
    if (m_inOrder.empty() || m_head == m_inOrder.size() || m_inOrder.back().at <= candidate.at) {
      if (m_head == m_inOrder.size()) {
        m_inOrder.clear();
        m_head = 0;
      }
      m_inOrder.push_back(candidate);
    } else {
      m_late.push(candidate);
    }
  }

  Candidate pop() {
    const bool hasOrdered = m_head < m_inOrder.size();
    if (!m_late.empty() && (!hasOrdered || m_late.top().at < m_inOrder[m_head].at)) {
      const Candidate first = m_late.top();
      m_late.pop();
      return first;
    }
    return m_inOrder[m_head++];
  }

 private:
  std::vector<Candidate> m_inOrder;
  std::size_t m_head = 0;
  std::priority_queue<Candidate> m_late;
};

}  // namespace

class ScoreMerger::Run {
 public:
  Run(const ScoreMerger& merger, std::vector<Symbol>& symbols)
      : m_merger(merger), m_symbols(symbols), m_queueOf(static_cast<std::size_t>(merger.m_numRanks), -1) {}

  void mergeAll() {
    for (std::int32_t at = 1; at < std::ssize(m_symbols); ++at) {
      Pace::breathe();
      offer(at - 1, at);
    }
    while (!m_ranks.empty()) {
      Pace::breathe();
      const std::int32_t rank = m_ranks.top();
      RankQueue& queue = m_queues[static_cast<std::size_t>(m_queueOf[static_cast<std::size_t>(rank)])];
      const Candidate best = queue.pop();
      if (queue.isEmpty()) m_ranks.pop();
      apply(best);
    }
  }

 private:
  Symbol& at(std::int32_t index) { return m_symbols[static_cast<std::size_t>(index)]; }

  void offer(std::int32_t left, std::int32_t right) {
    if (left < 0 || right < 0 || at(left).isFrozen || at(right).isFrozen) return;
    const TokenId leftId = at(left).id, rightId = at(right).id;
    const std::uint64_t key = pairKey(leftId, rightId);
    auto found = m_known.find(key);
    if (found == m_known.end()) found = m_known.emplace(key, m_merger.mergeOf(leftId, rightId)).first;
    const Merge merge = found->second;
    if (merge.merged < 0) return;
    std::int32_t& place = m_queueOf[static_cast<std::size_t>(merge.rank)];
    if (place < 0) {
      place = static_cast<std::int32_t>(m_queues.size());
      m_queues.emplace_back();
    }
    RankQueue& queue = m_queues[static_cast<std::size_t>(place)];
    if (queue.isEmpty()) m_ranks.push(merge.rank);
    queue.push({left, leftId, rightId, merge.merged});
  }

  void apply(const Candidate& best) {
    Symbol& left = at(best.at);
    if (left.id != best.left || left.next < 0 || at(left.next).id != best.right) return;
    Symbol& right = at(left.next);
    left.id = best.merged;
    left.next = right.next;
    right.id = -1;
    if (left.next >= 0) at(left.next).previous = best.at;
    offer(left.previous, best.at);
    offer(best.at, left.next);
  }

  const ScoreMerger& m_merger;
  std::vector<Symbol>& m_symbols;
  std::unordered_map<std::uint64_t, Merge> m_known;
  std::vector<std::int32_t> m_queueOf;  // by rank; -1 = none yet
  std::deque<RankQueue> m_queues;
  std::priority_queue<std::int32_t, std::vector<std::int32_t>, std::greater<>> m_ranks;  // with candidates
};

std::unique_ptr<ScoreMerger> ScoreMerger::create(const Vocabulary& vocabulary) {
  std::unique_ptr<ScoreMerger> merger(new ScoreMerger(vocabulary));
  if (!merger->collect() || !merger->rankScores()) return nullptr;
  return merger;
}

// Which pieces count is as writeSentencePieceModel() has it: of equal texts the first, whatever its type.
bool ScoreMerger::collect() {
  std::fill(std::begin(m_bytes), std::end(m_bytes), -1);
  std::unordered_set<std::string_view> seen;
  for (std::size_t i = 0; i < m_vocabulary.tokens.size(); ++i) {
    const TokenType type = m_vocabulary.types[i];
    const auto id = static_cast<TokenId>(i);
    if (type == TokenType::Unused) return false;
    std::string_view text = m_vocabulary.tokens[i];
    if (type == TokenType::UserDefined) text = m_escaped.emplace_back(escapeSpaces(std::string(text)));
    if (text.empty() || !seen.insert(text).second || id == m_vocabulary.unknown) continue;
    if (const int byte = type == TokenType::Byte ? byteOfToken(text) : -1; byte >= 0) m_bytes[byte] = id;
    if (type == TokenType::UserDefined) {
      m_userDefined.emplace(text, id);
      m_userLengths[static_cast<unsigned char>(text[0])].push_back(text.size());
    }
    const bool isPiece =
        type == TokenType::Normal || type == TokenType::Undefined || type == TokenType::UserDefined;
    if (isPiece) m_pieces.emplace(text, id);
  }
  for (std::vector<std::size_t>& lengths : m_userLengths) {
    std::sort(lengths.begin(), lengths.end(), std::greater<>());
    lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  }
  return std::find(std::begin(m_bytes), std::end(m_bytes), -1) == std::end(m_bytes);
}

// Equal scores share a rank: the place in the text decides between them.
bool ScoreMerger::rankScores() {
  const std::size_t size = m_vocabulary.tokens.size();
  const std::vector<float>& scores = m_vocabulary.scores;
  const auto scoreOf = [&](std::size_t id) { return scores.empty() ? -static_cast<float>(id) : scores[id]; };
  if (std::any_of(scores.begin(), scores.end(), [](float score) { return std::isnan(score); })) return false;
  std::vector<std::size_t> byScore(size);
  std::iota(byScore.begin(), byScore.end(), std::size_t{0});
  std::sort(byScore.begin(), byScore.end(), [&](std::size_t a, std::size_t b) { return scoreOf(a) > scoreOf(b); });
  m_ranks.resize(size);
  for (std::size_t i = 0; i < size; ++i) {
    if (i > 0 && scoreOf(byScore[i]) != scoreOf(byScore[i - 1])) ++m_numRanks;
    m_ranks[byScore[i]] = m_numRanks;
  }
  ++m_numRanks;
  return true;
}

TokenId ScoreMerger::userDefinedAt(std::string_view text, std::size_t& length) const {
  for (const std::size_t wanted : m_userLengths[static_cast<unsigned char>(text[0])]) {
    if (wanted > text.size()) continue;
    const auto found = m_userDefined.find(text.substr(0, wanted));
    if (found == m_userDefined.end()) continue;
    length = wanted;
    return found->second;
  }
  return -1;
}

std::vector<ScoreMerger::Symbol> ScoreMerger::symbolsOf(std::string_view text) const {
  std::vector<Symbol> symbols;
  symbols.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    Pace::breathe();
    std::size_t length = 0;
    const std::string_view rest = text.substr(at);
    TokenId id = userDefinedAt(rest, length);
    const bool isFrozen = id >= 0;
    if (!isFrozen) {
      length = firstUtf8Unit(rest.substr(0, std::min<std::size_t>(rest.size(), 4))).length;
      const auto found = m_pieces.find(rest.substr(0, length));
      // no piece of its own, but perhaps part of one: below -1, told apart by the code point
      id = found != m_pieces.end() ? found->second : -2 - static_cast<TokenId>(codePointOf(rest.substr(0, length)));
    }
    const auto place = static_cast<std::int32_t>(symbols.size());
    symbols.push_back({id, place - 1, place + 1, isFrozen});
    at += length;
  }
  if (!symbols.empty()) symbols.back().next = -1;
  return symbols;
}

std::string ScoreMerger::textOfSymbol(TokenId id) const {
  if (id < 0) {
    std::string text;
    appendUtf8(text, static_cast<char32_t>(-2 - id));
    return text;
  }
  const std::string& text = m_vocabulary.tokens[static_cast<std::size_t>(id)];
  return m_vocabulary.types[static_cast<std::size_t>(id)] == TokenType::UserDefined ? escapeSpaces(text) : text;
}

ScoreMerger::Merge ScoreMerger::mergeOf(TokenId left, TokenId right) const {
  const auto found = m_pieces.find(textOfSymbol(left) + textOfSymbol(right));
  if (found == m_pieces.end()) return {};
  return {found->second, m_ranks[static_cast<std::size_t>(found->second)]};
}

void ScoreMerger::encode(std::string_view text, std::vector<TokenId>& ids) const {
  std::vector<Symbol> symbols = symbolsOf(escapeSpaces(std::string(text)));
  Run(*this, symbols).mergeAll();
  for (std::int32_t at = symbols.empty() ? -1 : 0; at >= 0; at = symbols[static_cast<std::size_t>(at)].next) {
    const TokenId id = symbols[static_cast<std::size_t>(at)].id;
    if (id >= 0) {
      ids.push_back(id);
    } else {
      for (const char byte : textOfSymbol(id)) ids.push_back(m_bytes[static_cast<unsigned char>(byte)]);
    }
  }
}

}  // namespace engine::text
