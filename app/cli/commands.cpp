#include "app/cli/commands.h"

namespace app::cli {

const std::vector<Command>& commands() {
  static const std::vector<Command> all = {
      {"tokenize", "Token ids of a text", setUpTokenize},
      {"detokenize", "Text of token ids", setUpDetokenize},
      {"template", "A conversation as the model's chat template writes it", setUpTemplate},
      {"generate", "One answer, streamed as it comes", setUpGenerate},
      {"run", "A workload of many requests at once, with its figures", setUpRun},
      {"bench", "How fast prompts are read and tokens made here", setUpBench},
      {"score", "Log-probabilities of a text, in one pass", setUpScore},
      {"perplexity", "Perplexity of a text, by llama.cpp's rule", setUpPerplexity},
      {"divergence", "KL divergence from another model or from f32 KV", setUpDivergence},
      {"inspect", "What a model file holds and whether it runs here", setUpInspect},
      {"simulate", "A workload on a device and a model that are not here", setUpSimulate},
      {"plan", "How many devices a service needs", setUpPlan},
      {"replay", "What happened in a recorded run, checked to its end", setUpReplay},
      {"export", "A recorded run for Chrome, Perfetto or a spreadsheet", setUpExport},
  };
  return all;
}

}  // namespace app::cli
