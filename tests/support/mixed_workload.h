// A workload with each kind of prompt, and what of its outcome must not depend on the engine's
// knobs.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace test_support {

// Each kind of prompt; greedy and drawn, with penalties; short and long. `longPrompt` tokens.
inline std::string mixedWorkload(int longPrompt, int maxTokens) {
  std::string lines;
  const auto add = [&lines](const nlohmann::json& row) { lines += row.dump() + "\n"; };
  add({{"id", "text"}, {"prompt", "the one in the other"}, {"max_tokens", maxTokens}});
  add({{"id", "ids"}, {"prompt_ids", {104, 101, 32, 116}}, {"max_tokens", maxTokens / 2}});
  add({{"id", "chat"},
       {"messages", {{{"role", "user"}, {"content", "hello"}}}},
       {"max_tokens", maxTokens}});
  add({{"id", "long"}, {"prompt_tokens", longPrompt}, {"max_tokens", maxTokens}});
  add({{"id", "drawn"},
       {"prompt", "the one in the other"},
       {"max_tokens", maxTokens},
       {"temperature", 0.8},
       {"seed", 5},
       {"repetition_penalty", 1.3}});
  add({{"id", "wild"},
       {"prompt", "on and on"},
       {"max_tokens", maxTokens},
       {"temperature", 1.5},
       {"seed", 6},
       {"top_p", 0.9}});
  add({{"id", "long too"}, {"prompt_tokens", longPrompt + 3}, {"max_tokens", maxTokens}});
  add({{"id", "again"}, {"prompt", "the one in the other"}, {"max_tokens", maxTokens}});
  return lines;
}

// What must not depend on how the engine was set.
inline nlohmann::json answersOf(const nlohmann::json& document) {
  nlohmann::json answers = nlohmann::json::array();
  for (const nlohmann::json& request : document["requests"]) {
    answers.push_back({request["id"], request["prompt_ids"], request["ids"], request["text"],
                       request["logprobs"], request["row_hashes"], request["finish_reason"]});
  }
  return answers;
}

// How often requests were set back, by the requests themselves.
inline int preemptionsOf(const nlohmann::json& document) {
  int sum = 0;
  for (const nlohmann::json& request : document["requests"])
    sum += request["preemptions"].get<int>();
  return sum;
}

}  // namespace test_support
