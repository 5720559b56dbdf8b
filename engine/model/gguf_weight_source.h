// A GGUF file as a WeightSource.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "engine/model/gguf_file.h"
#include "engine/model/weight_source.h"

namespace engine::model {

class GgufWeightSource : public WeightSource {
 public:
  // Errors as GgufFile::open.
  static Result<std::unique_ptr<WeightSource>> open(const std::string& path);

  explicit GgufWeightSource(GgufFile file) : m_file(std::move(file)) {}

  const GgufFile& file() const { return m_file; }

  const std::string& path() const override { return m_file.path(); }

  std::int64_t fileBytes() const override { return static_cast<std::int64_t>(m_file.fileBytes()); }

  Result<ModelConfig> configFor(std::int64_t maxContext) const override;
  Result<kernels::DecoderWeights> weights(const ModelConfig& config) const override;

  FileChange change() const override { return m_file.change(); }

  void releasePages() const override { m_file.releasePages(); }

  void releasePages(std::span<const std::byte> bytes) const override { m_file.releasePages(bytes); }

  Result<text::Vocabulary> vocabulary() const override;

 private:
  GgufFile m_file;
};

}  // namespace engine::model
