#include "engine/service/packed_folder.h"

#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include "engine/model/safe_text.h"

namespace engine::service {

namespace {

std::string_view textOf(const char* value) {
  return value != nullptr ? value : "";
}

bool isAbsolute(std::string_view path) {
  return !path.empty() && path.front() == '/';
}

}  // namespace

Result<std::string> packedFolder(const char* setting, const char* cacheHome, const char* home) {
  const std::string_view asked = textOf(setting);
  if (asked == "off") return std::string();
  if (isAbsolute(asked)) return std::string(asked);
  if (!asked.empty() && asked != "on") {
    return Error{
        ErrorCode::InvalidArgument,
        fmt::format("TESSERA_PACKED_CACHE is \"{}\"; it takes on, off or the absolute path "
                    "of a folder",
                    model::safeText(std::string(asked)))};
  }
  // The base directory specification: unset, empty or relative means the default.
  if (isAbsolute(textOf(cacheHome))) return std::string(cacheHome) + "/tessera/packed";
  if (isAbsolute(textOf(home))) return std::string(home) + "/.cache/tessera/packed";
  return std::string();
}

Result<std::string> packedFolderOfEnvironment() {
  return packedFolder(std::getenv("TESSERA_PACKED_CACHE"), std::getenv("XDG_CACHE_HOME"),
                      std::getenv("HOME"));
}

}  // namespace engine::service
