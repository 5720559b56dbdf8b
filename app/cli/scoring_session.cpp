#include "app/cli/scoring_session.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "engine/service/gguf_model_provider.h"
#include "engine/service/packed_folder.h"

namespace app::cli {

using namespace engine;

Result<service::LoadedModel> loadForScoring(CliIo& io, EngineConfig config, std::int64_t tokens) {
  const std::int64_t blockSize = config.load.blockSize;
  config.load.kvBlocks = std::max<std::int64_t>(1, (tokens + blockSize - 1) / blockSize);
  service::LoadObserver observer;
  observer.progress = [](const std::string&, double, std::int64_t) {};
  observer.cancel = &io.cancel.flag();
  service::GgufModelProvider provider(TRY(service::packedFolderOfEnvironment()));
  const auto opened = TRY(provider.open(config, observer));
  return opened->load(config, observer);
}

void warnOfChange(CliIo& io, const service::LoadedModel& model) {
  const std::string fact = model.executor->takeWarning();
  if (!fact.empty()) warn(io, fact + ", so the figures may be wrong");
}

Result<std::vector<TokenId>> encodeForPerplexity(const text::Tokenizer& tokenizer, std::string text) {
  if (!text.empty() && text.back() == '\n') text.pop_back();
  std::vector<TokenId> ids = TRY(tokenizer.encodeRaw(text, text::SpecialTokens::Plain));
  const text::Vocabulary& vocabulary = tokenizer.vocabulary();
  if (vocabulary.addBos && vocabulary.bos >= 0) ids.insert(ids.begin(), vocabulary.bos);
  if (vocabulary.addEos && vocabulary.eos >= 0) ids.push_back(vocabulary.eos);
  return ids;
}

std::optional<std::string> contextError(std::int64_t context) {
  if (context >= 4 && context <= kMaxScoredContext && context % 2 == 0) return std::nullopt;
  return fmt::format("--context is {}; it takes an even number from 4 to {}", context, kMaxScoredContext);
}

}  // namespace app::cli
