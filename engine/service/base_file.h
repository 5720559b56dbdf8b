// The base file of a divergence measurement, in the format of llama.cpp's perplexity tool.
#pragma once

#include <cstdint>
#include <fstream>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/result.h"

namespace engine::service {

// "_logits_", context, vocabulary size, chunks, tokens [chunks * context], then for each scored position
// a scale, a floor and one 16-bit number a token: log p = scale * q + floor. Little-endian.
struct BaseHeader {
  std::uint32_t context = 0;
  std::int32_t vocabSize = 0;
  std::int32_t chunks = 0;
  std::vector<TokenId> tokens;
};

class BaseFileWriter {
 public:
  static Result<BaseFileWriter> create(const std::string& path, const BaseHeader& header);
  Result<void> add(std::span<const float> logits);
  // Everything is on disk, or the reason why not.
  Result<void> finish();

 private:
  BaseFileWriter(std::string path, std::ofstream file)
      : m_path(std::move(path)), m_file(std::move(file)) {}

  std::string m_path;
  std::ofstream m_file;
  std::vector<std::uint16_t> m_record;
};

class BaseFileReader {
 public:
  static Result<BaseFileReader> open(const std::string& path);
  const BaseHeader& header() const { return m_header; }
  // The next position's log-probabilities, [vocabSize]. CorruptFile when the file ends before.
  Result<void> next(std::vector<float>& logprobs);

 private:
  BaseFileReader(std::string path, std::ifstream file)
      : m_path(std::move(path)), m_file(std::move(file)) {}

  std::string m_path;
  std::ifstream m_file;
  BaseHeader m_header;
  std::vector<std::uint16_t> m_record;
};

}  // namespace engine::service
