// Text from a file made fit to be shown: one line, valid UTF-8, bounded.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "engine/base/result.h"

namespace engine::model {

// Bytes that are not UTF-8 become U+FFFD, control characters a space; longer text keeps its first
// bytes, up to a whole character, and ends in "…". The result has at most `maxBytes` + 3 bytes.
std::string safeText(std::string_view text, std::size_t maxBytes = 64);

// As safeText without a bound on the length (for documents; control characters stay).
std::string validUtf8(std::string_view text);

// "dir/model.gguf: what is wrong", at most about 300 bytes; a long path keeps its end.
Error fileError(ErrorCode code, std::string_view path, std::string_view what);

}  // namespace engine::model
