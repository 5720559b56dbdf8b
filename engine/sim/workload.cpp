#include "engine/sim/workload.h"

#include "engine/base/check.h"
#include "engine/base/random.h"

namespace engine::sim {

namespace {

// Sets shared blocks and the shared prefix apart from a request's own tokens: all count from 0.
constexpr std::uint64_t kSharedBlock = 1ull << 62;
constexpr std::uint64_t kSharedPrefix = 1ull << 63;

std::uint64_t ownerOf(const SyntheticPrompt& prompt, std::int64_t position, std::uint64_t index) {
  const auto block = static_cast<std::size_t>(position / kHashBlockTokens);
  if (position < prompt.sharedPrefix) return kSharedPrefix;
  return block < prompt.hashIds.size() ? kSharedBlock + prompt.hashIds[block] : index;
}

}  // namespace

std::vector<TokenId> synthesizePrompt(const SyntheticPrompt& prompt,
                                      const PromptAlphabet& alphabet,
                                      std::uint64_t seed,
                                      std::uint64_t index) {
  CHECK(!alphabet.empty());
  std::vector<TokenId> ids;
  ids.reserve(static_cast<std::size_t>(prompt.tokens));
  for (std::int64_t position = 0; position < prompt.tokens; ++position) {
    const double draw = counterDraw(seed, ownerOf(prompt, position, index),
                                    static_cast<std::uint64_t>(position), DrawStream::Workload);
    ids.push_back(alphabet[static_cast<std::size_t>(draw * static_cast<double>(alphabet.size()))]);
  }
  return ids;
}

}  // namespace engine::sim
