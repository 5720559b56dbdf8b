// What became of a file's content since it was mapped.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/result.h"

namespace engine::model {

enum class ChangeKind : std::uint8_t {
  None,
  Changed,   // written to or touched: what is read may be another content
  CutShort,  // bytes are gone, or cannot be read: zeros were read in their place
};

// `when` of an error for whoever only reads the file.
inline constexpr std::string_view kWhileRead = "while it was read";

struct FileChange {
  ChangeKind kind = ChangeKind::None;
  std::string path;  // empty when nothing happened
  std::uint64_t bytesBefore = 0, bytesNow = 0;

  bool isNone() const { return kind == ChangeKind::None; }

  // CorruptFile: "dir/model.gguf: was cut short from 20 to 10 bytes " and `when`.
  Error error(std::string_view when) const;
  // That error, unless nothing happened.
  Result<void> check(std::string_view when) const;
};

}  // namespace engine::model
