// Cuts text into the words inside which byte BPE merges, as the model was trained.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"

namespace engine::text {

// One rule by the name that files give it (tokenizer.ggml.pre).
struct PreTokenizerRule {
  std::string_view name;
  // Each pattern cuts what the one before left over: matches and the gaps between them are words.
  std::vector<std::string_view> patterns;
  bool ignoresMerges = false;  // a word that is a token is that token
};

// All rules known; the one place to add one.
const std::vector<PreTokenizerRule>& preTokenizerRules();

// Immutable after creation, thread-safe.
class PreTokenizer {
 public:
  // Unsupported, naming the rule and the known ones.
  static Result<std::unique_ptr<PreTokenizer>> create(const std::string& ruleName);
  ~PreTokenizer();

  // Views into `text`, in order, without gaps. `text` must be UTF-8.
  Result<std::vector<std::string_view>> split(std::string_view text) const;

  bool ignoresMerges() const { return m_ignoresMerges; }

 private:
  struct Pattern;
  PreTokenizer();

  std::vector<Pattern> m_patterns;
  bool m_ignoresMerges = false;
};

}  // namespace engine::text
