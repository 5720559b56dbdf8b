#include "kernels/cpu/packed_file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include "kernels/cpu/packed_key.h"

namespace kernels::cpu {

namespace {

constexpr char kMagic[16] = "tessera packed\n";
constexpr std::size_t kRoundBytes = std::size_t{8} << 20;

struct Header {
  char magic[16] = {};
  std::uint64_t format = kPackedFormat;
  ContentHash key;
  std::uint64_t payloadBytes = 0;
  ContentHash checksum;  // of the hashes of the payload's pieces
};

constexpr std::size_t kHashedBytes = kPackedHeaderBytes - sizeof(ContentHash);
using HeaderBlock = std::array<std::byte, kPackedHeaderBytes>;  // ends with the hash of the rest

HeaderBlock blockOf(const ContentHash& key, std::size_t payloadBytes, const ContentHash& checksum) {
  Header header;
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.key = key;
  header.payloadBytes = payloadBytes;
  header.checksum = checksum;
  HeaderBlock block{};
  std::memcpy(block.data(), &header, sizeof header);
  const ContentHash hash = hashOf(std::span(block).first(kHashedBytes));
  std::memcpy(block.data() + kHashedBytes, &hash, sizeof hash);
  return block;
}

ContentHash checksumOf(std::span<const ContentHash> pieces) {
  return hashOf(std::as_bytes(pieces));
}

// Open, and of the right size; else not open.
FileDescriptor openFor(const std::string& path, std::size_t payloadBytes) {
  // not to wait for what is no file
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));

  struct stat facts {};

  const bool fits = file.isOpen() && fstat(file.number(), &facts) == 0 && S_ISREG(facts.st_mode) &&
                    static_cast<std::size_t>(facts.st_size) == kPackedHeaderBytes + payloadBytes;
  return fits ? std::move(file) : FileDescriptor();
}

// False when some piece could not be read or the watch cancelled.
bool readPieces(const FileDescriptor& file,
                std::span<std::byte> payload,
                std::span<const std::size_t> roundEnds,
                ThreadPool& pool,
                const LoadWatch& watch,
                std::vector<ContentHash>& hashes) {
  std::atomic<bool> hasFailed = false;
  const auto readRound = [&](std::size_t first, std::size_t end) {
    pool.run(static_cast<int>(end - first), [&](int item, int) {
      const std::size_t index = first + static_cast<std::size_t>(item);
      if (watch.isCancelled() || hasFailed.load(std::memory_order_relaxed)) return;
      const std::span<std::byte> piece = pieceOf(payload, index);
      if (!file.readAll(piece, kPackedHeaderBytes + index * kPieceBytes)) hasFailed = true;
      hashes[index] = hashOf(piece);
    });
    watch.tell(static_cast<double>(end) / static_cast<double>(hashes.size()));
  };
  std::size_t first = 0;
  for (const std::size_t roundEnd : roundEnds) {
    const std::size_t end = std::min(numPieces(roundEnd), hashes.size());
    if (end < first + kRoundBytes / kPieceBytes) continue;
    readRound(first, end);
    first = end;
    if (hasFailed || watch.isCancelled()) return false;
  }
  if (first < hashes.size()) readRound(first, hashes.size());
  return !hasFailed && !watch.isCancelled();
}

Status failed(const char* what) {
  return Status::failed(Outcome::DeviceFailed, std::string(what) + ": " + std::strerror(errno));
}

// A file system that cannot reserve says so when it is written. Past the process's own limit a
// signal would end it.
bool reserveRoom(int file, std::size_t bytes) {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && bytes > limit.rlim_cur) {
    errno = EFBIG;
    return false;
  }
  if (fallocate(file, 0, 0, static_cast<off_t>(bytes)) == 0) return true;
  return errno == EOPNOTSUPP || errno == ENOSYS;
}

}  // namespace

PackedRead readPackedFile(const std::string& path,
                          const ContentHash& key,
                          std::span<std::byte> payload,
                          std::span<const std::size_t> roundEnds,
                          ThreadPool& pool,
                          const LoadWatch& watch) {
  const FileDescriptor file = openFor(path, payload.size());
  HeaderBlock block;
  if (!file.isOpen() || !file.readAll(block, 0)) return PackedRead::Unusable;
  Header header;
  std::memcpy(&header, block.data(), sizeof header);
  if (block != blockOf(key, payload.size(), header.checksum)) return PackedRead::Unusable;
  posix_fadvise(file.number(), 0, 0, POSIX_FADV_SEQUENTIAL);
  std::vector<ContentHash> hashes(numPieces(payload.size()));
  const bool isWhole = readPieces(file, payload, roundEnds, pool, watch, hashes);
  if (watch.isCancelled()) return PackedRead::Cancelled;
  if (!isWhole || checksumOf(hashes) != header.checksum) return PackedRead::Unusable;
  futimens(file.number(), nullptr);  // where it may not, the file only looks older than it is
  return PackedRead::Read;
}

bool isPackedFile(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));

  struct stat facts {};

  std::array<std::byte, sizeof kMagic> magic;
  return file.isOpen() && fstat(file.number(), &facts) == 0 && S_ISREG(facts.st_mode) &&
         file.readAll(magic, 0) && std::memcmp(magic.data(), kMagic, sizeof kMagic) == 0;
}

PackedFileWriter::~PackedFileWriter() {
  discard();
}

void PackedFileWriter::discard() {
  m_file = FileDescriptor();
  if (!m_unfinished.empty()) unlink(m_unfinished.c_str());
  m_unfinished.clear();
}

Status PackedFileWriter::open(const std::string& path, std::size_t payloadBytes) {
  m_path = path;
  std::string name = path + ".XXXXXX";
  m_file = FileDescriptor(mkostemp(name.data(), O_CLOEXEC));
  if (!m_file.isOpen()) return failed("no file can be made");
  m_unfinished = name;
  const std::span magic(kMagic);
  if (!reserveRoom(m_file.number(), kPackedHeaderBytes + payloadBytes) ||
      !m_file.writeAll(std::as_bytes(magic), 0)) {
    const Status status = failed("there is no room for the file");
    discard();
    return status;
  }
  return Status::ok();
}

Status PackedFileWriter::write(const ContentHash& key,
                               std::span<const std::byte> payload,
                               const std::function<bool()>& isStopped) {
  Status status = writeAll(key, payload, isStopped);
  if (status.isOk() && std::rename(m_unfinished.c_str(), m_path.c_str()) != 0) {
    status = failed("the file cannot be put in its place");
  }
  if (status.isOk()) m_unfinished.clear();
  discard();
  return status;
}

Status PackedFileWriter::writeAll(const ContentHash& key,
                                  std::span<const std::byte> payload,
                                  const std::function<bool()>& isStopped) {
  std::vector<ContentHash> hashes(numPieces(payload.size()));
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    if (isStopped()) return Status::failed(Outcome::Cancelled, "writing was stopped");
    const std::span<const std::byte> piece = pieceOf(payload, i);
    hashes[i] = hashOf(piece);
    if (!m_file.writeAll(piece, kPackedHeaderBytes + i * kPieceBytes)) {
      return failed("the file cannot be written");
    }
  }
  const HeaderBlock block = blockOf(key, payload.size(), checksumOf(hashes));
  return m_file.writeAll(block, 0) ? Status::ok() : failed("the file cannot be written");
}

}  // namespace kernels::cpu
