// What can be said about a model file without running it, whether or not we can run it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "engine/model/gguf_file.h"
#include "engine/model/model_config.h"
#include "engine/text/vocabulary.h"

namespace engine::model {

struct TensorSummary {
  std::string name, type;           // valid UTF-8
  std::vector<std::int64_t> shape;  // fastest dimension first, as in the file
  std::int64_t bytes = 0;
};

struct Inspection {
  std::string format;        // "GGUF v3"
  std::string architecture;  // "" when the file does not say
  bool isSupported = false;
  std::string reason;  // why not; else empty
  std::int64_t parameters = 0, fileBytes = 0;
  std::vector<TensorSummary> tensors;
  std::optional<ModelConfig> config;            // empty when not supported before the weights
  std::optional<text::Vocabulary> vocabulary;   // empty when the file has none that can be read
  std::int64_t weightBytes = 0;                 // of all tensors
  std::optional<std::int64_t> kvBytesPerToken;  // bf16; empty without a config
  std::shared_ptr<const GgufFile> file;         // holds the metadata, file().metadata().entries()
};

// Errors as GgufFile::open: only a file that breaks the format, or cannot be read, is an error.
// isSupported does not judge the pre-tokenizer rule; createTokenizer does.
Result<Inspection> inspectModel(const std::string& path);

}  // namespace engine::model
