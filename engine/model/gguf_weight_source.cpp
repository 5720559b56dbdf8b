#include "engine/model/gguf_weight_source.h"

#include "engine/model/gguf_config.h"
#include "engine/model/gguf_vocabulary.h"
#include "engine/model/gguf_weights.h"

namespace engine::model {

Result<std::unique_ptr<WeightSource>> GgufWeightSource::open(const std::string& path) {
  GgufFile file = TRY(GgufFile::open(path));
  return std::unique_ptr<WeightSource>(std::make_unique<GgufWeightSource>(std::move(file)));
}

Result<ModelConfig> GgufWeightSource::configFor(std::int64_t maxContext) const {
  return readConfig(m_file, maxContext);
}

Result<kernels::DecoderWeights> GgufWeightSource::weights(const ModelConfig& config) const {
  return readWeights(m_file, config);
}

Result<text::Vocabulary> GgufWeightSource::vocabulary() const {
  return readVocabulary(m_file);
}

}  // namespace engine::model
