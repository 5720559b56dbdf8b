#include "engine/model/gguf_file.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "engine/model/safe_text.h"

namespace engine::model {

namespace {

constexpr std::uint32_t kMaxDims = 4;
constexpr std::size_t kMaxTensorName = 64;  // the format's limit
constexpr std::uint64_t kMinTensorBytes = 8 + 4 + 4 + 8;
constexpr std::uint64_t kDefaultAlignment = 32;
constexpr std::uint64_t kMaxAlignment = std::uint64_t{1} << 30;

struct Header {
  std::uint32_t version = 0;
  std::uint64_t numTensors = 0, numEntries = 0;
};

// Says what a file that is not GGUF seems to be.
std::string foreignFile(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::string_view start = text.substr(0, text.find_first_of(" \r\n\t", 1));
  if (text.starts_with("<")) return "is not a GGUF file; it looks like a web page";
  if (text.starts_with("version https://git-lfs")) {
    return "is not a GGUF file but a Git LFS pointer to one; fetch the real file";
  }
  if (text.starts_with("PK")) return "is not a GGUF file; it looks like a zip archive";
  if (text.size() > 8 && text[8] == '{') {
    return "is not a GGUF file; it looks like a safetensors file";
  }
  return fmt::format("is not a GGUF file: it begins with \"{}\", not with \"GGUF\"",
                     safeText(start, 16));
}

Result<Header> readHeader(GgufCursor& cursor, std::span<const std::byte> bytes) {
  if (bytes.empty()) return cursor.corrupt("is not a GGUF file: it is empty");
  if (bytes.size() < 4 || std::memcmp(bytes.data(), "GGUF", 4) != 0) {
    return cursor.corrupt(foreignFile(bytes));
  }
  Header header;
  (void)TRY(cursor.read<std::uint32_t>("the magic"));
  header.version = TRY(cursor.read<std::uint32_t>("the version"));
  if (header.version != 0 && (header.version & 0xFFFF) == 0) {
    return cursor.corrupt("is a big-endian GGUF file; only little-endian ones can be read");
  }
  if (header.version != 2 && header.version != 3) {
    return cursor.corrupt(
        fmt::format("is GGUF version {}; only versions 2 and 3 can be read", header.version));
  }
  header.numTensors = TRY(cursor.read<std::uint64_t>("the tensor count"));
  header.numEntries = TRY(cursor.read<std::uint64_t>("the metadata count"));
  return header;
}

Result<void> readShape(GgufCursor& cursor, const std::string& label, GgufTensor& tensor) {
  const auto numDims = TRY(cursor.read<std::uint32_t>(label));
  if (numDims > kMaxDims) {
    return cursor.corrupt(
        fmt::format("{} has {} dimensions, the limit is {}", label, numDims, kMaxDims));
  }
  tensor.elements = 1;
  for (std::uint32_t i = 0; i < numDims; ++i) {
    const auto size = TRY(cursor.read<std::uint64_t>(label));
    constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
    if (size == 0 || size > static_cast<std::uint64_t>(kMax)) {
      return cursor.corrupt(fmt::format("{} has a dimension of size {}", label, size));
    }
    const auto dim = static_cast<std::int64_t>(size);
    if (__builtin_mul_overflow(tensor.elements, dim, &tensor.elements)) {
      return cursor.corrupt(fmt::format("{} has more than 2^63 elements", label));
    }
    tensor.shape.push_back(dim);
  }
  return {};
}

Result<void> readTypeAndSize(GgufCursor& cursor, const std::string& label, GgufTensor& tensor) {
  const auto id = TRY(cursor.read<std::uint32_t>(label));
  tensor.type = findTensorType(id);
  if (tensor.type == nullptr) {
    return cursor.corrupt(
        fmt::format("{} has type {}, which the format does not define", label, id));
  }
  const std::int64_t cols = tensor.shape.empty() ? 1 : tensor.shape.front();
  if (cols % tensor.type->elementsPerBlock != 0) {
    return cursor.corrupt(fmt::format("{} has rows of {} elements, {} comes in blocks of {}", label,
                                      cols, tensor.type->name, tensor.type->elementsPerBlock));
  }
  const auto blocks = static_cast<std::uint64_t>(tensor.elements / tensor.type->elementsPerBlock);
  const auto blockBytes = static_cast<std::uint64_t>(tensor.type->bytesPerBlock);
  if (__builtin_mul_overflow(blocks, blockBytes, &tensor.bytes)) {
    return cursor.corrupt(fmt::format("{} has more than 2^64 bytes", label));
  }
  return {};
}

Result<GgufTensor> readTensor(GgufCursor& cursor, std::uint64_t index) {
  GgufTensor tensor;
  tensor.name = TRY(cursor.readString(fmt::format("the name of tensor {}", index)));
  if (tensor.name.empty() || tensor.name.size() > kMaxTensorName) {
    return cursor.corrupt(fmt::format("the name of tensor {} has {} bytes, allowed are 1 to {}",
                                      index, tensor.name.size(), kMaxTensorName));
  }
  const std::string label = fmt::format("tensor {}", safeText(tensor.name));
  TRY_VOID(readShape(cursor, label, tensor));
  TRY_VOID(readTypeAndSize(cursor, label, tensor));
  tensor.offset = TRY(cursor.read<std::uint64_t>(label));
  return tensor;
}

Result<std::uint64_t> alignmentOf(const GgufMetadata& metadata, std::string_view path) {
  const auto value = TRY(metadata.integer("general.alignment"));
  if (!value) return kDefaultAlignment;
  const auto alignment = static_cast<std::uint64_t>(*value);
  if (*value < 8 || alignment > kMaxAlignment || !std::has_single_bit(alignment)) {
    return fileError(
        ErrorCode::CorruptFile, path,
        fmt::format("general.alignment is {}, must be a power of two from 8 to 2^30", *value));
  }
  return alignment;
}

}  // namespace

FileChange GgufFile::change() const {
  FileChange worst = m_file.change();
  for (const MappedFile& part : m_otherParts) {
    if (worst.kind == ChangeKind::CutShort) break;
    if (FileChange change = part.change(); change.kind > worst.kind) worst = std::move(change);
  }
  return worst;
}

void GgufFile::releasePages() const {
  m_file.releasePages();
  for (const MappedFile& part : m_otherParts) part.releasePages();
}

void GgufFile::releasePages(std::span<const std::byte> bytes) const {
  m_file.releasePages(bytes);
  for (const MappedFile& part : m_otherParts) part.releasePages(bytes);
}

GgufFile::GgufFile(std::string path, MappedFile file, GgufMetadata metadata)
    : m_path(std::move(path)),
      m_file(std::move(file)),
      m_fileBytes(m_file.bytes().size()),
      m_metadata(std::move(metadata)) {}

Result<GgufFile> GgufFile::open(const std::string& path) {
  GgufFile file = TRY(openPart(path));
  const GgufPart part = TRY(readPart(file.m_metadata, path));
  if (part.count == 1) return file;
  // The first part holds the metadata of all.
  if (part.index != 0) file = TRY(openPartOf(path, part, 0));
  for (int i = 1; i < part.count; ++i) {
    GgufFile next = TRY(openPartOf(path, part, i));
    TRY_VOID(file.addPart(std::move(next)));
  }
  TRY_VOID(file.checkTensorCount());
  return file;
}

// Part `index` of the model that `part` at `path` belongs to.
Result<GgufFile> GgufFile::openPartOf(const std::string& path, const GgufPart& part, int index) {
  const std::string wanted = TRY(pathOfPart(path, part, index));
  auto opened = openPart(wanted);
  if (!opened && opened.error().code == ErrorCode::NotFound) {
    return fileError(ErrorCode::NotFound, wanted,
                     fmt::format("part {} of {} of the model is missing; the parts must lie beside "
                                 "each other",
                                 index + 1, part.count));
  }
  if (!opened) return opened.error();
  GgufFile file = std::move(opened).value();
  const GgufPart found = TRY(readPart(file.m_metadata, wanted));
  if (found == GgufPart{index, part.count}) return file;
  return fileError(ErrorCode::CorruptFile, wanted,
                   fmt::format("says it is part {} of {}, its name says part {} of {}",
                               found.index + 1, found.count, index + 1, part.count));
}

Result<void> GgufFile::addPart(GgufFile part) {
  for (GgufTensor& tensor : part.m_tensors) {
    if (!m_index.emplace(tensor.name, m_tensors.size()).second) {
      return fileError(
          ErrorCode::CorruptFile, part.m_path,
          fmt::format("has the tensor {}, which an earlier part has too", safeText(tensor.name)));
    }
    m_tensors.push_back(std::move(tensor));
  }
  m_fileBytes += part.m_fileBytes;
  m_otherParts.push_back(std::move(part.m_file));  // the names of its tensors lie there
  return {};
}

Result<void> GgufFile::checkTensorCount() const {
  const auto count = TRY(m_metadata.integer("split.tensors.count"));
  if (!count || *count == static_cast<std::int64_t>(m_tensors.size())) return {};
  return fileError(ErrorCode::CorruptFile, m_path,
                   fmt::format("split.tensors.count is {}, the parts have {} tensors", *count,
                               m_tensors.size()));
}

Result<GgufFile> GgufFile::openPart(const std::string& path) {
  const MappedFile mapped = TRY(MappedFile::open(path));
  auto file = readFile(path, mapped);
  TRY_VOID(mapped.change().check(kWhileRead));  // that explains whatever was found wrong
  return file;
}

Result<GgufFile> GgufFile::readFile(const std::string& path, const MappedFile& mapped) {
  GgufCursor cursor(mapped.bytes(), path);
  const Header header = TRY(readHeader(cursor, mapped.bytes()));
  GgufMetadata metadata = TRY(GgufMetadata::read(cursor, header.numEntries));
  GgufFile file(path, mapped, std::move(metadata));
  file.m_version = header.version;
  TRY_VOID(file.readTensors(cursor, header.numTensors));
  TRY_VOID(file.placeTensors(cursor.position()));
  TRY_VOID(file.checkOverlaps());
  return file;
}

Result<void> GgufFile::readTensors(GgufCursor& cursor, std::uint64_t count) {
  if (count > cursor.left() / kMinTensorBytes) {
    return cursor.corrupt(
        fmt::format("announces {} tensors, {} bytes are left in the file", count, cursor.left()));
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    GgufTensor tensor = TRY(readTensor(cursor, i));
    if (!m_index.emplace(tensor.name, m_tensors.size()).second) {
      return cursor.corrupt(fmt::format("has the tensor {} twice", safeText(tensor.name)));
    }
    m_tensors.push_back(std::move(tensor));
  }
  return {};
}

// Turns offsets within the data part into places in the file, all inside it and aligned.
Result<void> GgufFile::placeTensors(std::uint64_t headerEnd) {
  if (m_tensors.empty()) return {};
  const std::uint64_t alignment = TRY(alignmentOf(m_metadata, m_path));
  const std::uint64_t dataBegin = (headerEnd + alignment - 1) / alignment * alignment;
  const std::uint64_t dataBytes = m_fileBytes > dataBegin ? m_fileBytes - dataBegin : 0;
  for (GgufTensor& tensor : m_tensors) {
    if (tensor.offset % alignment != 0) {
      return fileError(ErrorCode::CorruptFile, m_path,
                       fmt::format("tensor {} lies at offset {}, not a multiple of {}",
                                   safeText(tensor.name), tensor.offset, alignment));
    }
    if (tensor.offset > dataBytes || tensor.bytes > dataBytes - tensor.offset) {
      return fileError(
          ErrorCode::CorruptFile, m_path,
          fmt::format("is cut short or broken: tensor {} has {} bytes at offset {} of "
                      "{} bytes of data",
                      safeText(tensor.name, 40), tensor.bytes, tensor.offset, dataBytes));
    }
    tensor.offset += dataBegin;
    tensor.data = m_file.bytes().data() + tensor.offset;
  }
  return {};
}

Result<void> GgufFile::checkOverlaps() const {
  std::vector<const GgufTensor*> byOffset;
  for (const GgufTensor& tensor : m_tensors) byOffset.push_back(&tensor);
  std::ranges::sort(byOffset, {}, &GgufTensor::offset);
  for (std::size_t i = 1; i < byOffset.size(); ++i) {
    const GgufTensor& before = *byOffset[i - 1];
    if (before.offset + before.bytes > byOffset[i]->offset) {
      return fileError(ErrorCode::CorruptFile, m_path,
                       fmt::format("tensors {} and {} overlap", safeText(before.name),
                                   safeText(byOffset[i]->name)));
    }
  }
  return {};
}

const GgufTensor* GgufFile::findTensor(std::string_view name) const {
  const auto found = m_index.find(name);
  return found == m_index.end() ? nullptr : &m_tensors[found->second];
}

}  // namespace engine::model
