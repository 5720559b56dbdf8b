// Files that are changed in place: old at first, so that a change shows in the time of modification,
// which file systems keep in steps of some milliseconds.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "tests/support/gguf_writer.h"

namespace test_support {

inline void age(const std::string& path) {
  using Clock = std::filesystem::file_time_type::clock;
  std::filesystem::last_write_time(path, Clock::now() - std::chrono::hours(1));
}

inline void writeAgedFile(const std::string& path, std::string_view bytes) {
  writeFile(path, bytes);
  age(path);
}

// In place; the file grows where they reach beyond its end.
inline void overwrite(const std::string& path, std::uint64_t at, std::string_view bytes) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(at));
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace test_support
