#include "tests/support/tiny_families.h"

namespace test_support {

namespace {

TinyModelSpec specOf(const char* family, int layers, int heads, int kvHeads, int headDim) {
  TinyModelSpec spec;
  spec.family = family;
  spec.layers = layers;
  spec.heads = heads;
  spec.kvHeads = kvHeads;
  spec.headDim = headDim;
  spec.context = 256;
  spec.weightScale = 1.4f;
  return spec;
}

TinyFamily linear() {
  TinyModelSpec spec = specOf("llama", 2, 4, 2, 16);
  spec.ropeScaleFactor = 4.0f;
  return {"llama-linear", spec, 64, 0, {"scaling", "pairing"}};
}

TinyFamily llama3() {
  TinyModelSpec spec = specOf("llama", 2, 4, 1, 16);
  spec.tiedOutput = false;
  spec.ropeBase = 500000.0f;
  spec.ropeFactors = {1.0f, 1.0f, 1.25f, 2.5f, 6.0f, 8.0f, 8.0f, 8.0f};
  return {"llama-3", spec, 80, 0, {"scaling", "output matrix"}};
}

TinyFamily yarn() {
  TinyModelSpec spec = specOf("llama", 2, 4, 2, 32);
  spec.ropeScaling = "yarn";
  spec.ropeScaleFactor = 4.0f;
  spec.originalContext = 64;
  return {"llama-yarn", spec, 96, 0, {"scaling", "magnitude", "stretch alone"}};
}

TinyFamily mistral() {
  TinyModelSpec spec = specOf("llama", 2, 4, 2, 16);
  spec.tiedOutput = false;
  spec.window = 20;
  return {"mistral", spec, 64, 0, {"window", "pairing"}};
}

TinyFamily evenHead() {
  TinyModelSpec spec = specOf("llama", 2, 2, 1, 80);
  spec.hidden = 160;
  spec.vocabSize = 1001;
  spec.type = kernels::DType::F16;
  return {"llama-f16-1001", spec, 48, 0, {"pairing"}};
}

TinyFamily qwen2Yarn() {
  TinyModelSpec spec = specOf("qwen2", 2, 7, 1, 32);
  spec.hidden = 224;
  spec.tiedOutput = false;
  spec.ropeScaling = "yarn";
  spec.ropeScaleFactor = 8.0f;
  spec.originalContext = 32;
  spec.ropeScalingKeys = {{"attn_factor", 1.1f},
                          {"yarn_ext_factor", 0.75f},
                          {"yarn_beta_fast", 3.0f},
                          {"yarn_beta_slow", 0.25f}};
  return {"qwen2-yarn-keys", spec, 72, 0, {"bias", "scaling", "magnitude", "stretch alone"}};
}

TinyFamily qwen3() {
  TinyModelSpec spec = specOf("qwen3", 2, 3, 3, 40);
  spec.hidden = 96;
  spec.ropeBase = 1000000.0f;
  return {"qwen3", spec, 64, 0, {"query norm", "key norm"}};
}

TinyFamily qwen3Grouped() {
  TinyModelSpec spec = specOf("qwen3", 2, 4, 2, 48);
  spec.hidden = 96;
  spec.tiedOutput = false;
  return {"qwen3-grouped", spec, 64, 0, {"query norm", "key norm", "output matrix"}};
}

TinyFamily gemma2() {
  TinyModelSpec spec = specOf("gemma2", 4, 4, 2, 16);
  spec.window = 12;
  spec.attentionSoftCap = 5.0f;
  spec.finalSoftCap = 14.0f;
  return {"gemma2",
          spec,
          64,
          0,
          {"window", "attention cap", "final cap", "post norms", "embedding scale", "layer order",
           "activation"}};
}

TinyFamily gemma3() {
  TinyModelSpec spec = specOf("gemma3", 7, 4, 1, 16);
  spec.window = 12;
  spec.ropeBase = 1000000.0f;
  spec.ropeScaleFactor = 8.0f;
  return {"gemma3",
          spec,
          64,
          0,
          {"window", "query norm", "key norm", "post norms", "scaling", "local rope",
           "embedding scale"}};
}

// The same model on either side of its original context.
TinyFamily phi3(const char* name, int promptLength, int maxContext) {
  TinyModelSpec spec = specOf("phi3", 2, 4, 2, 24);
  spec.hidden = 96;
  spec.tiedOutput = false;
  spec.window = 28;
  spec.ropeDims = 16;
  spec.ropeScaling = "longrope";
  spec.originalContext = 32;
  spec.ropeScalingKeys = {{"attn_factor", 1.265f}};
  spec.longFactors = {1.1f, 1.3f, 2.0f, 3.5f, 6.0f, 8.0f, 11.0f, 14.0f};
  spec.shortFactors = {1.0f, 1.05f, 1.1f, 1.3f, 1.6f, 2.0f, 2.5f, 3.0f};
  return {name, spec, promptLength, maxContext, {"window", "scaling", "magnitude", "gate and up"}};
}

}  // namespace

std::vector<TinyFamily> tinyFamilies() {
  return {linear(),
          llama3(),
          yarn(),
          mistral(),
          evenHead(),
          qwen2Yarn(),
          qwen3(),
          qwen3Grouped(),
          gemma2(),
          gemma3(),
          phi3("phi3-long", 80, 0),
          phi3("phi3-short", 32, 32)};
}

}  // namespace test_support
