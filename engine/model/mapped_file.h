// A whole file mapped read-only into memory.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "engine/base/result.h"
#include "engine/model/file_change.h"

namespace engine::model {

// Pages are read when touched. Copies share the mapping, which goes with the last of them. Where the
// file is cut short while it is mapped, zeros are read; change() tells.
class MappedFile {
 public:
  // NotFound when there is no such file; InvalidArgument when it cannot be read or is no regular
  // file; OutOfMemory when MappingGuard::kMaxMappings are there. An empty file maps to an empty span.
  static Result<MappedFile> open(const std::string& path);

  std::span<const std::byte> bytes() const;

  // What became of the file since it was opened, by its size and its time of modification: that
  // another file took its name, or none, is no change. Once cut short it stays so. Takes less than a
  // microsecond. From any thread.
  FileChange change() const;

  bool isUnchanged() const { return change().isNone(); }

  // Gives the pages read so far back to the system; they are read again when touched. From any
  // thread.
  void releasePages() const { releasePages(bytes()); }
  // The same of those that hold `bytes` and of up to 2 MiB before and behind; nothing when `bytes`
  // lies outside the file.
  void releasePages(std::span<const std::byte> bytes) const;

 private:
  struct Mapping;

  explicit MappedFile(std::shared_ptr<Mapping> mapping) : m_mapping(std::move(mapping)) {}

  std::shared_ptr<Mapping> m_mapping;  // null after a move
};

}  // namespace engine::model
