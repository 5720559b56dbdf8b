#include "engine/model/file_change.h"

#include <fmt/format.h>

#include "engine/model/safe_text.h"

namespace engine::model {

Error FileChange::error(std::string_view when) const {
  std::string what = fmt::format("was changed {}", when);
  if (kind == ChangeKind::CutShort && bytesNow < bytesBefore) {
    what = fmt::format("was cut short from {} to {} bytes {}", bytesBefore, bytesNow, when);
  } else if (kind == ChangeKind::CutShort) {
    what = fmt::format("lost bytes {} (it had {} and has {} now)", when, bytesBefore, bytesNow);
  }
  return fileError(ErrorCode::CorruptFile, path, what);
}

Result<void> FileChange::check(std::string_view when) const {
  if (isNone()) return {};
  return error(when);
}

}  // namespace engine::model
