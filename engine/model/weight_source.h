// Where weights come from: a GGUF file now, safetensors later. One source is one opened model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "engine/base/result.h"
#include "engine/model/file_change.h"
#include "engine/model/model_config.h"
#include "engine/text/vocabulary.h"
#include "kernels/core/decoder_spec.h"

namespace engine::model {

// Thread-compatible. Views handed out stay valid as long as the source lives. What reads the file
// fails with CorruptFile when it is no longer what it was when it was opened.
class WeightSource {
 public:
  virtual ~WeightSource() = default;

  virtual const std::string& path() const = 0;
  virtual std::int64_t fileBytes() const = 0;
  // Unsupported, naming the reason, for an architecture, rule or type that we do not run.
  // `maxContext` positions will be served at most (0 = as many as trained), which some rope
  // scalings depend on.
  virtual Result<ModelConfig> configFor(std::int64_t maxContext) const = 0;

  Result<ModelConfig> config() const { return configFor(0); }

  // Every tensor the config needs, shapes checked; an absent one is named.
  virtual Result<kernels::DecoderWeights> weights(const ModelConfig& config) const = 0;
  // What became of the file since it was opened; as MappedFile::change. From any thread.
  virtual FileChange change() const = 0;
  // After what is kept was copied: the file may leave memory until it is read again. From any
  // thread.
  virtual void releasePages() const = 0;
  // The same of `bytes`, which lie in the views handed out.
  virtual void releasePages(std::span<const std::byte> bytes) const = 0;
  // Works for vocabulary-only files of any architecture.
  virtual Result<text::Vocabulary> vocabulary() const = 0;
};

}  // namespace engine::model
