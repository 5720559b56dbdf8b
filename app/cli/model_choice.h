// Which model file a command works on.
#pragma once

#include <memory>
#include <string>

#include "app/cli/flag_set.h"
#include "engine/base/result.h"
#include "engine/text/tokenizer.h"

namespace app::cli {

// Where packaging/fetch-model puts the default model:
// ${XDG_DATA_HOME:-~/.local/share}/tessera/models/SmolLM2-135M-Instruct.Q4_1.gguf.
std::string defaultModelPath();

struct ModelChoice {
  std::string given;  // --model; empty = the default

  std::string path() const { return given.empty() ? defaultModelPath() : given; }
};

void addModelFlag(FlagSet& flags, ModelChoice& choice);

// NotFound, saying how to get it, when nobody named a model and the default is not there.
engine::Result<void> checkModelExists(const ModelChoice& choice);

// Reads the vocabulary alone: vocabulary-only files and unknown architectures will do.
engine::Result<engine::text::Vocabulary> openVocabulary(const ModelChoice& choice);
engine::Result<std::unique_ptr<engine::text::Tokenizer>> openTokenizer(const ModelChoice& choice);

}  // namespace app::cli
