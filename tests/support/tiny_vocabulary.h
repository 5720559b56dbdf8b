// The vocabularies of tiny models.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/gguf_writer.h"
#include "tests/support/tiny_model.h"

namespace test_support {

// Appends the tokenizer keys of `spec`.
void addTinyVocabulary(const TinyModelSpec& spec, GgufWriter& writer);

// How byte-level BPE writes a byte as text: itself when printable, else a character from U+0100 on.
std::string byteLevelText(std::uint8_t byte);

}  // namespace test_support
