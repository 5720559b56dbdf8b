#include "engine/model/inspection.h"

#include <utility>

#include <fmt/format.h>

#include "engine/model/gguf_config.h"
#include "engine/model/gguf_vocabulary.h"
#include "engine/model/gguf_weights.h"
#include "engine/model/memory_estimate.h"
#include "engine/model/safe_text.h"

namespace engine::model {

namespace {

constexpr std::size_t kMaxNameBytes = 64;

void listTensors(const GgufFile& file, Inspection& out) {
  for (const GgufTensor& tensor : file.tensors()) {
    const auto bytes = static_cast<std::int64_t>(tensor.bytes);
    out.tensors.push_back(
        {safeText(tensor.name, 3 * kMaxNameBytes), tensor.type->name, tensor.shape, bytes});
    out.weightBytes += bytes;
  }
}

// Config and weights; what stands in the way becomes the reason.
Result<void> judgeDecoder(const GgufFile& file, Inspection& out) {
  out.config = TRY(readConfig(file));
  out.kvBytesPerToken =
      static_cast<std::int64_t>(kvLayoutOf(out.config->decoder, LoadConfig{}).bytesPerToken());
  (void)TRY(readWeights(file, *out.config));
  return {};
}

Result<void> judgeVocabulary(const GgufFile& file, Inspection& out) {
  out.vocabulary = TRY(readVocabulary(file));
  if (out.vocabulary->kind == text::VocabularyKind::Unsupported) {
    return fileError(ErrorCode::Unsupported, file.path(),
                     fmt::format("tokenizer model \"{}\" is not run (gpt2 and llama are)",
                                 safeText(out.vocabulary->model)));
  }
  return {};
}

}  // namespace

Result<Inspection> inspectModel(const std::string& path) {
  auto file = std::make_shared<const GgufFile>(TRY(GgufFile::open(path)));
  Inspection out;
  out.format = fmt::format("GGUF v{}", file->version());
  if (auto architecture = file->metadata().text("general.architecture")) {
    out.architecture = safeText(architecture->value_or(""));
  }
  out.parameters = countParameters(*file);
  out.fileBytes = static_cast<std::int64_t>(file->fileBytes());
  listTensors(*file, out);
  const Result<void> vocabulary = judgeVocabulary(*file, out);
  const Result<void> decoder = judgeDecoder(*file, out);
  TRY_VOID(file->change().check(kWhileRead));
  out.isSupported = decoder.isOk() && vocabulary.isOk();
  if (!vocabulary) out.reason = vocabulary.error().message;
  if (!decoder) out.reason = decoder.error().message;  // says more than the vocabulary's
  out.file = std::move(file);
  return out;
}

}  // namespace engine::model
