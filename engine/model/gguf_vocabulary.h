// The tokenizer of a GGUF file as plain values.
#pragma once

#include "engine/base/result.h"
#include "engine/model/gguf_file.h"
#include "engine/text/vocabulary.h"

namespace engine::model {

// Works for vocabulary-only files and for any architecture; what an absent key means follows the
// tokenizer model (sentencepiece: bos 1, eos 2, unknown 0, BOS added). Kind is Unsupported, with
// `model` naming it, for tokenizer models that we do not know.
// Unsupported when the file has no vocabulary; CorruptFile when its parts do not fit together.
Result<text::Vocabulary> readVocabulary(const GgufFile& file);

}  // namespace engine::model
