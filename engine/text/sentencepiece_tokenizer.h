// Sentencepiece vocabularies (BPE with scores), through the sentencepiece library.
// Source: Kudo and Richardson 2018.
#pragma once

#include <memory>

#include "engine/base/result.h"
#include "engine/text/tokenizer.h"
#include "engine/text/vocabulary.h"

namespace engine::text {

// `vocabulary` as repairVocabulary() left it. CorruptFile with the library's words when it refuses.
Result<std::unique_ptr<Tokenizer>> createSentencePieceTokenizer(Vocabulary vocabulary);

}  // namespace engine::text
