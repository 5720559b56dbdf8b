// Small decoders whose packed weights are kept in a folder, and a look at what lies there.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/cpu/packed_decoder.h"
#include "kernels/cpu/packed_key.h"
#include "tests/kernels/tiny_decoder.h"

namespace fixture {

using kernels::DType;
using kernels::WeightView;
using kernels::cpu::CodeOrder;
using kernels::cpu::ContentHash;
using kernels::cpu::PackedDecoder;
using kernels::cpu::PackedMatrix;
using kernels::cpu::ThreadPool;
using tests::TinyDecoder;
using Bytes = std::vector<std::byte>;

inline constexpr CodeOrder kOrders[] = {CodeOrder::ByStep, CodeOrder::ByPair};

// Some 0.7 MB, so that there are several pieces.
inline TinyDecoder decoderOf(DType type = DType::Q8_0, unsigned seed = 1) {
  tests::TinyShape shape;
  shape.hidden = shape.ffn = 256;
  shape.vocabSize = 83;
  shape.type = type;
  return TinyDecoder(shape, seed);
}

struct Load {
  kernels::Status status;
  std::unique_ptr<PackedDecoder> decoder = std::make_unique<PackedDecoder>();

  bool wasRead() const { return decoder->wasRead(); }

  // Of all matrices: tiles, then the units of their sums.
  Bytes bytes(int numLayers = 2) const {
    Bytes all;
    const auto add = [&all](const PackedMatrix& matrix) {
      const std::byte* units = reinterpret_cast<const std::byte*>(matrix.sumUnits(0));
      all.insert(all.end(), matrix.tile(0), matrix.tile(0) + matrix.packedBytes());
      all.insert(all.end(), units, units + 4 * matrix.numTiles());
    };
    for (int i = 0; i < numLayers; ++i) {
      const kernels::cpu::PackedLayer& layer = decoder->layer(i);
      for (const auto* matrix : {&layer.qkv, &layer.attnOut, &layer.gateUp, &layer.down}) {
        add(*matrix);
      }
    }
    add(decoder->output());
    return all;
  }
};

// The file, if any, is written when this returns.
inline Load load(const TinyDecoder& from,
                 const std::string& folder,
                 CodeOrder order = CodeOrder::ByStep,
                 int numThreads = 2) {
  kernels::BackendRequest request = from.request(kernels::KvType::F32, 16, 4, numThreads);
  request.packedFolder = folder;
  ThreadPool pool(numThreads);
  Load made;
  made.status = made.decoder->pack(request, order, pool);
  made.decoder->finishKeeping();
  return made;
}

inline std::vector<WeightView> sourcesOf(const TinyDecoder& from) {
  std::vector<WeightView> sources;
  for (const kernels::LayerWeights& w : from.weights().layers) {
    sources.insert(sources.end(), {w.q, w.k, w.v, w.attnOut, w.gate, w.up, w.down});
  }
  sources.push_back(from.weights().output);
  return sources;
}

inline ContentHash keyOf(std::span<const WeightView> sources, CodeOrder order = CodeOrder::ByStep) {
  ThreadPool pool(2);
  return kernels::cpu::packedKey(sources, order, pool, {}).value();
}

inline std::vector<std::string> filesIn(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

inline Bytes contentOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

inline void write(const std::string& path, const Bytes& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

inline void setUsed(const std::string& path, std::time_t when) {
  const timespec times[] = {{when, 0}, {when, 0}};
  if (utimensat(AT_FDCWD, path.c_str(), times, 0) != 0)
    throw std::runtime_error("no time for " + path);
}

inline std::time_t usedAt(const std::string& path) {
  struct stat facts {};

  if (stat(path.c_str(), &facts) != 0) return 0;
  return facts.st_mtime;
}

// The header's own hash after a change to it, as a program of another version would write it.
inline void sealHeader(Bytes& file) {
  const std::size_t hashed = kernels::cpu::kPackedHeaderBytes - sizeof(ContentHash);
  const ContentHash hash = kernels::cpu::hashOf(std::span(file).first(hashed));
  std::memcpy(file.data() + hashed, &hash, sizeof hash);
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace fixture
