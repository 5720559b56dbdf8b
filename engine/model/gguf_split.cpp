#include "engine/model/gguf_split.h"

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

}  // namespace engine::model
