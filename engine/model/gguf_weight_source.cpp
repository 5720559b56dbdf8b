#include "engine/model/gguf_weight_source.h"

#include "engine/model/gguf_config.h"
#include "engine/model/gguf_vocabulary.h"
#include "engine/model/gguf_weights.h"

namespace engine::model {

namespace {

// What was read of a file that changed meanwhile may be wrong in any way, and so may what is said
// against it.
template <typename T>
Result<T> unlessChanged(const GgufFile& file, Result<T> read) {
  TRY_VOID(file.change().check(kWhileRead));
  return read;
}

}  // namespace

Result<std::unique_ptr<WeightSource>> GgufWeightSource::open(const std::string& path) {
  GgufFile file = TRY(GgufFile::open(path));
  return std::unique_ptr<WeightSource>(std::make_unique<GgufWeightSource>(std::move(file)));
}

Result<ModelConfig> GgufWeightSource::configFor(std::int64_t maxContext) const {
  return unlessChanged(m_file, readConfig(m_file, maxContext));
}

Result<kernels::DecoderWeights> GgufWeightSource::weights(const ModelConfig& config) const {
  return unlessChanged(m_file, readWeights(m_file, config));
}

Result<text::Vocabulary> GgufWeightSource::vocabulary() const {
  return unlessChanged(m_file, readVocabulary(m_file));
}

}  // namespace engine::model
