// Byte-level BPE: every byte is a letter of the alphabet, so any text has ids and comes back whole.
// Source: GPT-2 (Radford et al. 2019), section 2.2.
#pragma once

#include <memory>

#include "engine/base/result.h"
#include "engine/text/tokenizer.h"
#include "engine/text/vocabulary.h"

namespace engine::text {

// `vocabulary` as repairVocabulary() left it; its merges are dropped once turned into a table.
// Unsupported for an unknown pre-tokenizer rule, CorruptFile for a merge of unknown tokens.
Result<std::unique_ptr<Tokenizer>> createByteBpeTokenizer(Vocabulary vocabulary);

}  // namespace engine::text
