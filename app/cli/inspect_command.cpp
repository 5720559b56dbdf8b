#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "app/cli/commands.h"
#include "app/cli/flag_set.h"
#include "app/cli/metadata_json.h"
#include "engine/model/gguf_config.h"
#include "engine/model/gguf_weight_source.h"
#include "engine/model/safe_text.h"
#include "engine/text/tokenizer.h"
#include "kernels/core/kv_layout.h"
#include "kernels/core/request_check.h"

namespace app::cli {

namespace {

using engine::Error;
using engine::ErrorCode;
using engine::Result;
using engine::model::GgufFile;
using engine::model::GgufWeightSource;
using engine::model::ModelConfig;

struct InspectOptions {
  std::string path;
  bool isJson = false;
};

// "Unsupported" is an answer here; every other error is the file's.
struct Findings {
  std::string reason;  // why it does not run; empty when it does
  Json vocabulary;     // null without one
  Json kvPerToken;     // bytes; null when the shape is not known
  Json kvByType;       // the same for every --kv-dtype

  void note(const Error& error) {
    if (reason.empty()) reason = error.message;
  }
};

Result<void> lookAtDecoder(const GgufWeightSource& source, Findings& findings) {
  const Result<ModelConfig> config = source.config();
  if (!config && config.error().code != ErrorCode::Unsupported) return config.error();
  if (!config) {
    findings.note(config.error());
    return {};
  }
  const kernels::DecoderSpec& decoder = config->decoder;
  kernels::KvLayout layout;
  layout.type = kernels::KvType::BF16;
  layout.numLayers = decoder.numLayers;
  layout.numKvHeads = decoder.numKvHeads;
  layout.headDim = decoder.headDim;
  findings.kvPerToken = layout.bytesPerToken();
  for (const auto type : {kernels::KvType::F32, kernels::KvType::F16, kernels::KvType::BF16,
                          kernels::KvType::Fp8E4M3, kernels::KvType::Int8, kernels::KvType::Int4}) {
    layout.type = type;
    findings.kvByType[kernels::kvTypeName(type)] = layout.bytesPerToken();
  }
  const auto weights = source.weights(*config);
  if (weights) return {};
  if (weights.error().code != ErrorCode::Unsupported) return weights.error();
  findings.note(weights.error());
  return {};
}

Json idOrNull(engine::TokenId id) {
  return id < 0 ? Json() : Json(id);
}

Result<void> lookAtVocabulary(const GgufWeightSource& source,
                              const std::string& path,
                              Findings& findings) {
  auto vocabulary = source.vocabulary();
  if (!vocabulary) {
    if (vocabulary.error().code != ErrorCode::Unsupported) return vocabulary.error();
    findings.note(vocabulary.error());
    return {};
  }
  findings.vocabulary = {{"type", engine::model::validUtf8(vocabulary->model)},
                         {"pre", engine::model::validUtf8(vocabulary->pre)},
                         {"size", vocabulary->tokens.size()},
                         {"bos", idOrNull(vocabulary->bos)},
                         {"eos", idOrNull(vocabulary->eos)},
                         {"end_of_generation", nullptr},
                         {"has_chat_template", !vocabulary->chatTemplate.empty()}};
  const auto tokenizer = engine::text::createTokenizer(std::move(*vocabulary));
  if (tokenizer) {
    findings.vocabulary["end_of_generation"] = (*tokenizer)->endOfGeneration();
    return {};
  }
  if (tokenizer.error().code != ErrorCode::Unsupported) {
    return engine::model::fileError(tokenizer.error().code, path, tokenizer.error().message);
  }
  findings.note(tokenizer.error());
  return {};
}

Json tensorsJson(const GgufFile& file) {
  Json tensors = Json::array();
  for (const auto& tensor : file.tensors()) {
    tensors.push_back({{"name", engine::model::validUtf8(tensor.name)},
                       {"type", tensor.type->name},
                       {"shape", tensor.shape},
                       {"bytes", tensor.bytes}});
  }
  return tensors;
}

Result<Json> inspect(const std::string& path) {
  const GgufWeightSource source(TRY(GgufFile::open(path)));
  const GgufFile& file = source.file();
  Findings findings;
  TRY_VOID(lookAtDecoder(source, findings));
  TRY_VOID(lookAtVocabulary(source, path, findings));
  const auto architecture = TRY(file.metadata().text("general.architecture"));
  std::uint64_t weightBytes = 0;
  for (const auto& tensor : file.tensors()) weightBytes += tensor.bytes;
  Json document = {
      {"format", "gguf"},
      {"version", file.version()},
      {"architecture", architecture ? Json(engine::model::validUtf8(*architecture)) : Json()},
      {"supported", findings.reason.empty()},
      {"reason", findings.reason.empty() ? Json() : Json(findings.reason)},
      {"parameters", engine::model::countParameters(file)},
      {"tensors", tensorsJson(file)},
      {"metadata", metadataJson(file.metadata())},
      {"vocabulary", findings.vocabulary},
      {"memory",
       {{"weights", weightBytes},
        {"kv_per_token", findings.kvPerToken},
        {"kv_dtype", "bf16"},
        {"kv_per_token_by_dtype", findings.kvByType}}}};
  if (const auto change = file.change(); !change.isNone()) return change.error(engine::model::kWhileRead);
  return document;
}

std::string summaryOf(const std::string& path, const Json& document) {
  const auto shown = [](const Json& value) {
    return value.is_string() ? value.get<std::string>()
                             : value.dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  std::string text = fmt::format("{}: GGUF version {}\n", path, shown(document["version"]));
  text += fmt::format("architecture  {}\n", shown(document["architecture"]));
  text += document["supported"] ? "runs here     yes\n"
                                : fmt::format("runs here     no: {}\n", shown(document["reason"]));
  text += fmt::format("parameters    {}\n", shown(document["parameters"]));
  text += fmt::format("tensors       {}\n", document["tensors"].size());
  text += fmt::format("vocabulary    {}\n", shown(document["vocabulary"]));
  text +=
      fmt::format("memory        {} bytes of weights, {} bytes of KV a token (bf16)\n",
                  shown(document["memory"]["weights"]), shown(document["memory"]["kv_per_token"]));
  return text;
}

int runInspect(CliIo& io, const InspectOptions& options) {
  const auto document = inspect(options.path);
  if (!document) return fail(io, document.error());
  return options.isJson ? writeJson(io, *document)
                        : writeText(io, summaryOf(options.path, *document));
}

}  // namespace

CommandRun setUpInspect(CLI::App& app) {
  const auto options = std::make_shared<InspectOptions>();
  FlagSet flags(app);
  flags.positional("FILE", options->path, "the model file");
  flags.toggle("--json", options->isJson,
               "one JSON document: format, architecture, supported, reason, parameters, tensors, "
               "metadata, vocabulary, memory");
  return [options](CliIo& io) { return runInspect(io, *options); };
}

}  // namespace app::cli
