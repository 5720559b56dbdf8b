#include "engine/service/base_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "engine/base/overwrite.h"
#include "engine/sample/column_tiles.h"

namespace engine::service {

namespace {

constexpr std::array<char, 8> kMagic = {'_', 'l', 'o', 'g', 'i', 't', 's', '_'};
constexpr float kDepth = 16.0f;  // logits further below the largest are clamped

// 16-bit words of a position: scale and floor as two floats, then one word a token, padded to even.
std::size_t recordWords(std::int32_t vocabSize) {
  return 4 + 2 * ((static_cast<std::size_t>(vocabSize) + 1) / 2);
}

std::streamsize recordBytes(const std::vector<std::uint16_t>& record) {
  return static_cast<std::streamsize>(record.size() * sizeof(std::uint16_t));
}

template <typename T>
void writeValue(std::ofstream& file, const T& value) {
  file.write(reinterpret_cast<const char*>(&value), sizeof value);
}

template <typename T>
bool readValue(std::ifstream& file, T& value) {
  return static_cast<bool>(file.read(reinterpret_cast<char*>(&value), sizeof value));
}

}  // namespace

Result<BaseFileWriter> BaseFileWriter::create(const std::string& path, const BaseHeader& header) {
  TRY_VOID(checkOverwrite(path, {kMagic.data(), kMagic.size()}, "a base of log-probabilities"));
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  if (!file) return Error{ErrorCode::NotFound, fmt::format("cannot write {}: {}", path, std::strerror(errno))};
  writeValue(file, kMagic);
  writeValue(file, header.context);
  writeValue(file, header.vocabSize);
  writeValue(file, header.chunks);
  file.write(reinterpret_cast<const char*>(header.tokens.data()),
             static_cast<std::streamsize>(header.tokens.size() * sizeof(TokenId)));
  BaseFileWriter writer(path, std::move(file));
  writer.m_record.resize(recordWords(header.vocabSize));
  return writer;
}

Result<void> BaseFileWriter::add(std::span<const float> logits) {
  const sample::RowSummary summary = TRY(sample::summarizeRow(logits));
  const float lowest = std::max(*std::ranges::min_element(logits), summary.max - kDepth);
  const float scale = (summary.max - lowest) / 65535.0f;
  const float floor = static_cast<float>(double{lowest} - summary.logSumExp);
  std::memcpy(m_record.data(), &scale, sizeof scale);
  std::memcpy(m_record.data() + 2, &floor, sizeof floor);
  const float inverse = scale > 0 ? 1.0f / scale : 0.0f;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const float step = std::nearbyint(std::max(logits[i] - lowest, 0.0f) * inverse);
    m_record[4 + i] = static_cast<std::uint16_t>(std::min(65535.0f, step));
  }
  m_file.write(reinterpret_cast<const char*>(m_record.data()), recordBytes(m_record));
  if (!m_file) {
    return Error{ErrorCode::Internal, fmt::format("could not write to {} (disk full?)", m_path)};
  }
  return {};
}

Result<void> BaseFileWriter::finish() {
  m_file.close();
  if (!m_file) {
    return Error{ErrorCode::Internal, fmt::format("could not write to {} (disk full?)", m_path)};
  }
  return {};
}

Result<BaseFileReader> BaseFileReader::open(const std::string& path) {
  std::error_code failed;
  const std::uintmax_t bytes = std::filesystem::file_size(path, failed);
  if (failed) return Error{ErrorCode::NotFound, fmt::format("cannot read {}: {}", path, failed.message())};
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{ErrorCode::NotFound, fmt::format("cannot read {}: {}", path, std::strerror(errno))};
  BaseFileReader reader(path, std::move(file));
  std::array<char, 8> magic{};
  BaseHeader& header = reader.m_header;
  const bool isWhole = readValue(reader.m_file, magic) && readValue(reader.m_file, header.context) &&
                       readValue(reader.m_file, header.vocabSize) &&
                       readValue(reader.m_file, header.chunks);
  if (!isWhole || magic != kMagic) {
    return Error{ErrorCode::CorruptFile,
                 fmt::format("{} is not a base file of log-probabilities", path)};
  }
  // Counts are believed only as far as the file is long.
  const bool isSane =
      header.context >= 4 && header.context <= (1u << 24) && header.vocabSize > 0 &&
      header.chunks > 0 &&
      static_cast<std::uintmax_t>(header.chunks) * header.context * sizeof(TokenId) < bytes &&
      recordWords(header.vocabSize) * sizeof(std::uint16_t) < bytes;
  if (!isSane) {
    return Error{ErrorCode::CorruptFile,
                 fmt::format("{} has impossible counts in its header", path)};
  }
  header.tokens.resize(static_cast<std::size_t>(header.chunks) * header.context);
  if (!reader.m_file.read(reinterpret_cast<char*>(header.tokens.data()),
                          static_cast<std::streamsize>(header.tokens.size() * sizeof(TokenId)))) {
    return Error{ErrorCode::CorruptFile, fmt::format("{} ends within its tokens", path)};
  }
  const auto isForeign = [&](TokenId id) { return id < 0 || id >= header.vocabSize; };
  if (std::ranges::any_of(header.tokens, isForeign)) {
    return Error{ErrorCode::CorruptFile, fmt::format("{} holds a token outside its vocabulary", path)};
  }
  reader.m_record.resize(recordWords(header.vocabSize));
  return reader;
}

Result<void> BaseFileReader::next(std::vector<float>& logprobs) {
  if (!m_file.read(reinterpret_cast<char*>(m_record.data()), recordBytes(m_record))) {
    return Error{ErrorCode::CorruptFile, fmt::format("{} ends before its last position", m_path)};
  }
  float scale = 0, floor = 0;
  std::memcpy(&scale, m_record.data(), sizeof scale);
  std::memcpy(&floor, m_record.data() + 2, sizeof floor);
  logprobs.resize(static_cast<std::size_t>(m_header.vocabSize));
  for (std::size_t i = 0; i < logprobs.size(); ++i) {
    logprobs[i] = scale * static_cast<float>(m_record[4 + i]) + floor;
  }
  return {};
}

}  // namespace engine::service
