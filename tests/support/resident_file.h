// How much of a file this process has mapped and in memory.
#pragma once

#include <cstddef>
#include <fstream>
#include <sstream>
#include <string>

namespace test_support {

// Bytes, over all its mappings; only pages that are mapped, not those that the system keeps
// besides.
inline std::size_t residentBytes(const std::string& path) {
  std::ifstream maps("/proc/self/smaps");
  std::size_t kilobytes = 0;
  bool isOurs = false;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::string first;
    words >> first;
    if (first.ends_with(':')) {
      std::size_t figure = 0;
      if (isOurs && first == "Rss:" && words >> figure) kilobytes += figure;
    } else {
      isOurs = line.ends_with(" " + path);
    }
  }
  return kilobytes * 1024;
}

}  // namespace test_support
