#include "engine/sample/sampling_order.h"

#include <array>

namespace engine::sample {

namespace {

// typical-p stands right behind top-k everywhere, as in the one engine that has it.
constexpr std::array kVllm = {Stage::Mask, Stage::LogitBias, Stage::Penalties, Stage::Temperature,
                              Stage::MinP, Stage::TopK,      Stage::TypicalP,  Stage::TopP};
constexpr std::array kTensorRtLlm = {Stage::Mask,        Stage::Penalties, Stage::LogitBias,
                                     Stage::Temperature, Stage::MinP,      Stage::TopK,
                                     Stage::TypicalP,    Stage::TopP};
constexpr std::array kSglang = {Stage::Mask, Stage::LogitBias, Stage::Penalties, Stage::Temperature,
                                Stage::TopK, Stage::TypicalP,  Stage::TopP,      Stage::MinP};
constexpr std::array kLlamaCpp = {Stage::Mask, Stage::LogitBias,  Stage::Penalties,
                                  Stage::TopK, Stage::TypicalP,   Stage::TopP,
                                  Stage::MinP, Stage::Temperature};

}  // namespace

std::span<const Stage> stagesOf(OrderPreset preset) {
  switch (preset) {
    case OrderPreset::Vllm:
      return kVllm;
    case OrderPreset::TensorRtLlm:
      return kTensorRtLlm;
    case OrderPreset::Sglang:
      return kSglang;
    case OrderPreset::LlamaCpp:
      return kLlamaCpp;
  }
  return kVllm;
}

const char* stageName(Stage stage) {
  switch (stage) {
    case Stage::Mask:
      return "mask";
    case Stage::LogitBias:
      return "logit-bias";
    case Stage::Penalties:
      return "penalties";
    case Stage::Temperature:
      return "temperature";
    case Stage::MinP:
      return "min-p";
    case Stage::TopK:
      return "top-k";
    case Stage::TypicalP:
      return "typical-p";
    case Stage::TopP:
      return "top-p";
  }
  return "unknown";
}

const char* orderName(OrderPreset preset) {
  switch (preset) {
    case OrderPreset::Vllm:
      return "vllm";
    case OrderPreset::TensorRtLlm:
      return "tensorrt-llm";
    case OrderPreset::Sglang:
      return "sglang";
    case OrderPreset::LlamaCpp:
      return "llama.cpp";
  }
  return "unknown";
}

}  // namespace engine::sample
