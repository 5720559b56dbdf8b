// Which folder packed weights are kept in between loads, by what the environment says.
#pragma once

#include <string>

#include "engine/base/result.h"

namespace engine::service {

// setting: "off" for nowhere (an empty path), an absolute folder, or "on", which is ${cacheHome,
// else home/.cache}/tessera/packed. Any may be null or empty; without a home there is no folder.
// InvalidArgument for another setting.
Result<std::string> packedFolder(const char* setting, const char* cacheHome, const char* home);
// Of TESSERA_PACKED_CACHE, XDG_CACHE_HOME and HOME.
Result<std::string> packedFolderOfEnvironment();

}  // namespace engine::service
