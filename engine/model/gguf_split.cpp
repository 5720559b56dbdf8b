#include "engine/model/gguf_split.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "engine/model/safe_text.h"

namespace engine::model {

namespace {

constexpr std::int64_t kMaxParts = 65535;  // the key is an uint16

std::string endingOf(const GgufPart& part) {
  return fmt::format("-{:05}-of-{:05}.gguf", part.index + 1, part.count);
}

}  // namespace

Result<GgufPart> readPart(const GgufMetadata& metadata, const std::string& path) {
  const auto count = TRY(metadata.integer("split.count")).value_or(1);
  const auto index = TRY(metadata.integer("split.no")).value_or(0);
  if (count < 1 || count > kMaxParts) {
    return fileError(ErrorCode::CorruptFile, path,
                     fmt::format("split.count is {}, must be 1 to {}", count, kMaxParts));
  }
  if (index < 0 || index >= count) {
    return fileError(ErrorCode::CorruptFile, path,
                     fmt::format("split.no is {}, must be 0 to {}", index, count - 1));
  }
  return GgufPart{static_cast<int>(index), static_cast<int>(count)};
}

Result<std::string> pathOfPart(const std::string& path, const GgufPart& part, int index) {
  const std::string ending = endingOf(part);
  if (!path.ends_with(ending)) {
    return fileError(ErrorCode::NotFound, path,
                     fmt::format("is part {} of {}, but its name does not end in {}, by which the "
                                 "others would be found",
                                 part.index + 1, part.count, ending));
  }
  return path.substr(0, path.size() - ending.size()) + endingOf({index, part.count});
}

std::string titleOf(const std::string& path) {
  std::string name = path.substr(path.find_last_of('/') + 1);
  if (name.ends_with(".gguf")) name.resize(name.size() - 5);
  // "-00001-of-00003"
  constexpr std::string_view kShape = "-ddddd-of-ddddd";
  if (name.size() > kShape.size()) {
    const std::string_view ending = std::string_view(name).substr(name.size() - kShape.size());
    const bool isPart = std::equal(ending.begin(), ending.end(), kShape.begin(), [](char c, char shape) {
      return shape == 'd' ? c >= '0' && c <= '9' : c == shape;
    });
    if (isPart) name.resize(name.size() - kShape.size());
  }
  return safeText(name);
}

}  // namespace engine::model
