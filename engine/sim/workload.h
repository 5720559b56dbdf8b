// What many users ask, as data: read from a file or drawn from a seed, fed to the real engine, to the
// simulator or to a remote server alike.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "engine/api/request.h"
#include "engine/base/result.h"

namespace engine::sim {

// A prompt known only by its length: tokens are drawn from the seed. Positions [512 i, 512 (i + 1))
// depend on hashIds[i] alone where there is one, so equal ids mean equal text; the first sharedPrefix
// positions are the same in every prompt of one seed.
struct SyntheticPrompt {
  std::int64_t tokens = 0;
  std::int64_t sharedPrefix = 0;
  std::vector<std::uint64_t> hashIds;

  friend bool operator==(const SyntheticPrompt&, const SyntheticPrompt&) = default;
};

inline constexpr std::int64_t kHashBlockTokens = 512;

struct WorkloadRequest {
  std::string id;
  double atMs = 0;  // of arrival, from the start
  std::size_t place = 0;  // in the file, counted from 0
  std::variant<TextPrompt, ChatPrompt, TokenPrompt, SyntheticPrompt> prompt;
  // The recorded answer of a dataset: the output is as long as this, whatever the model says.
  std::string referenceAnswer;
  SamplingParams sampling;
  int priority = 0;
  SloTarget slo;
};

enum class WorkloadFormat : std::uint8_t { Tessera, ShareGpt, AzureCsv, BurstGptCsv, Mooncake };

struct Workload {
  WorkloadFormat format = WorkloadFormat::Tessera;
  std::vector<WorkloadRequest> requests;  // by time of arrival; ties keep the file's order
};

// Ids to draw synthetic prompts from: any that are plain text. Never empty.
using PromptAlphabet = std::vector<TokenId>;

// A pure function of its arguments. `index`: the request's place in the workload.
std::vector<TokenId> synthesizePrompt(const SyntheticPrompt& prompt,
                                      const PromptAlphabet& alphabet,
                                      std::uint64_t seed,
                                      std::uint64_t index);

}  // namespace engine::sim
