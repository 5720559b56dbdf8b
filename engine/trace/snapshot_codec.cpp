#include "engine/trace/snapshot_codec.h"

#include <algorithm>

#include "engine/base/check.h"
#include "engine/trace/trace_fields.h"

namespace engine::trace {

namespace {

bool isSame(const BlockSnapshot& a, const BlockSnapshot& b) {
  return a.state == b.state && a.owner == b.owner && a.refCount == b.refCount &&
         a.filled == b.filled && a.logical == b.logical && a.hash == b.hash &&
         a.allocatedStep == b.allocatedStep && a.lastUsedStep == b.lastUsedStep;
}

const RequestSnapshot* findRequest(const EngineSnapshot* snapshot, RequestId id) {
  if (snapshot == nullptr) return nullptr;
  const auto found = std::ranges::find(snapshot->requests, id, &RequestSnapshot::id);
  return found == snapshot->requests.end() ? nullptr : &*found;
}

std::size_t commonPrefix(const std::vector<BlockId>& a, const std::vector<BlockId>& b) {
  const auto end = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return static_cast<std::size_t>(end.first - a.begin());
}

std::string bytesOf(const RequestSnapshot& request) {
  std::string bytes;
  ByteWriter writer(bytes);
  writer(request);
  return bytes;
}

// Everything of a snapshot that is small, or written whole.
template <typename A>
void smallFields(A& a, EngineSnapshot& v) {
  a(v.version, v.timeNs, v.numEvents, v.state, v.failure, v.pool, v.lastStep, v.counters,
    v.decodeTokensPerSecond, v.prefillTokensPerSecond, v.speculation);
}

void writeRequest(ByteWriter& a, const RequestSnapshot& request, const EngineSnapshot* base) {
  const RequestSnapshot* before = findRequest(base, request.id);
  const std::string bytes = bytesOf(request);
  const bool isUnchanged =
      before != nullptr && before->blocks == request.blocks && bytesOf(*before) == bytes;
  a(isUnchanged);
  if (isUnchanged) return a(request.id);
  a(request);
  const std::size_t kept = before == nullptr ? 0 : commonPrefix(before->blocks, request.blocks);
  a(kept, std::vector<BlockId>(request.blocks.begin() + static_cast<std::ptrdiff_t>(kept),
                               request.blocks.end()));
}

void readRequest(ByteReader& a, RequestSnapshot& request, const EngineSnapshot* base) {
  bool isUnchanged = false;
  a(isUnchanged);
  if (isUnchanged) {
    RequestId id;
    a(id);
    const RequestSnapshot* before = findRequest(base, id);
    if (before == nullptr) return a.fail();
    request = *before;
    return;
  }
  std::size_t kept = 0;
  std::vector<BlockId> rest;
  a(request, kept, rest);
  const RequestSnapshot* before = findRequest(base, request.id);
  if (kept > (before == nullptr ? 0 : before->blocks.size())) return a.fail();
  if (kept > 0) {
    request.blocks.assign(before->blocks.begin(),
                          before->blocks.begin() + static_cast<std::ptrdiff_t>(kept));
  }
  request.blocks.insert(request.blocks.end(), rest.begin(), rest.end());
}

void writeBlocks(ByteWriter& a, const EngineSnapshot& snapshot, const EngineSnapshot* base) {
  if (base == nullptr) {
    a(snapshot.blocks.size());
    for (const BlockSnapshot& block : snapshot.blocks) {
      const bool isPlain = isSame(block, BlockSnapshot{});
      a(isPlain);
      if (!isPlain) a(block);
    }
    return;
  }
  std::vector<std::size_t> changed;
  for (std::size_t i = 0; i < snapshot.blocks.size(); ++i) {
    if (!isSame(snapshot.blocks[i], base->blocks[i])) changed.push_back(i);
  }
  a(changed.size());
  std::size_t next = 0;
  for (const std::size_t index : changed) {
    a(index - next, snapshot.blocks[index]);
    next = index + 1;
  }
}

void readBlocks(ByteReader& a, EngineSnapshot& snapshot, const EngineSnapshot* base) {
  std::size_t count = 0;
  a(count);
  if (count > a.numLeft()) return a.fail();  // each takes a byte at least
  if (base == nullptr) {
    snapshot.blocks.resize(count);
    for (std::size_t i = 0; i < count && a.isOk(); ++i) {
      bool isPlain = false;
      a(isPlain);
      if (!isPlain) a(snapshot.blocks[i]);
    }
    return;
  }
  snapshot.blocks = base->blocks;
  std::size_t next = 0;
  for (std::size_t i = 0; i < count && a.isOk(); ++i) {
    std::size_t gap = 0;
    a(gap);
    if (next > snapshot.blocks.size() || gap >= snapshot.blocks.size() - next) return a.fail();
    a(snapshot.blocks[next + gap]);
    next += gap + 1;
  }
}

}  // namespace

void encodeSnapshot(const EngineSnapshot& snapshot, const EngineSnapshot* base, std::string& out) {
  CHECK(base == nullptr || base->blocks.size() == snapshot.blocks.size());
  ByteWriter a(out);
  smallFields(a, const_cast<EngineSnapshot&>(snapshot));  // reads only
  const bool hasModel = base == nullptr || base->model != snapshot.model;
  const bool hasConfig = base == nullptr || base->config != snapshot.config;
  a(hasModel, hasConfig);
  if (hasModel) a(snapshot.model);
  if (hasConfig) a(snapshot.config);
  a(snapshot.requests.size());
  for (const RequestSnapshot& request : snapshot.requests) writeRequest(a, request, base);
  writeBlocks(a, snapshot, base);
}

std::optional<EngineSnapshot> decodeSnapshot(std::string_view bytes, const EngineSnapshot* base) {
  EngineSnapshot snapshot;
  ByteReader a(bytes);
  smallFields(a, snapshot);
  bool hasModel = false, hasConfig = false;
  a(hasModel, hasConfig);
  if (base == nullptr && !(hasModel && hasConfig)) return std::nullopt;
  if (hasModel)
    a(snapshot.model);
  else
    snapshot.model = base->model;
  if (hasConfig)
    a(snapshot.config);
  else
    snapshot.config = base->config;
  std::size_t numRequests = 0;
  a(numRequests);
  if (numRequests > a.numLeft()) return std::nullopt;
  for (std::size_t i = 0; i < numRequests && a.isOk(); ++i) {
    readRequest(a, snapshot.requests.emplace_back(), base);
  }
  readBlocks(a, snapshot, base);
  if (!a.isAtEnd()) return std::nullopt;
  return snapshot;
}

}  // namespace engine::trace
