#include "engine/base/overwrite.h"

#include <filesystem>
#include <fstream>

namespace engine {

Result<void> checkOverwrite(const std::string& path, std::string_view signature, const char* kind) {
  std::error_code error;  // what cannot be looked at is left to who opens it
  if (!std::filesystem::is_regular_file(path, error)) return {};
  if (std::filesystem::file_size(path, error) == 0 || error) return {};
  std::ifstream file(path, std::ios::binary);
  std::string start(signature.size(), '\0');
  if (!file) return {};
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  if (static_cast<std::size_t>(file.gcount()) == start.size() && start == signature) return {};
  return Error{ErrorCode::InvalidArgument,
               path + " is a file that is not " + kind + "; it would be lost"};
}

}  // namespace engine
