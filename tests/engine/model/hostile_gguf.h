// GGUF files broken on purpose, one kind each, made from nothing.
#pragma once

#include <string>
#include <vector>

#include "tests/support/gguf_writer.h"

namespace hostile_gguf {

using engine::model::GgufType;
using test_support::ByteString;
using test_support::ggufHeader;
using test_support::GgufWriter;

struct Case {
  const char* name;
  std::string bytes;
  const char* says;  // part of the message
};

inline constexpr std::uint64_t kHuge = ~std::uint64_t{0};

// A file of one entry "a.b" of value type `type` with these value bytes.
inline std::string oneEntry(std::uint32_t type, const ByteString& value) {
  ByteString out = ggufHeader(0, 1);
  return out.string("a.b").u32(type).text(value.bytes()).bytes();
}

// A file of one tensor "t"; `dims` as written, then type and offset, then `dataBytes` zeros.
inline std::string oneTensor(const std::vector<std::uint64_t>& dims,
                             std::uint32_t type,
                             std::uint64_t offset,
                             std::size_t dataBytes) {
  ByteString out = ggufHeader(1, 0);
  out.string("t").u32(static_cast<std::uint32_t>(dims.size()));
  for (const std::uint64_t dim : dims) out.u64(dim);
  out.u32(type).u64(offset);
  out.zeros((32 - out.bytes().size() % 32) % 32 + dataBytes);
  return out.bytes();
}

inline std::string twoTensors(const char* first, const char* second, std::uint64_t secondOffset) {
  ByteString out = ggufHeader(2, 0);
  out.string(first).u32(1).u64(16).u32(0).u64(0);
  out.string(second).u32(1).u64(16).u32(0).u64(secondOffset);
  out.zeros((32 - out.bytes().size() % 32) % 32 + 256);
  return out.bytes();
}

inline std::string nestedArrays(int depth) {
  ByteString value;
  for (int i = 0; i < depth; ++i) value.u32(9).u64(1);
  value.u32(0).u64(0);
  return oneEntry(9, value);
}

inline std::string withAlignment(std::uint32_t alignment) {
  GgufWriter writer;
  writer.add("general.alignment", alignment);
  writer.addTensor("t", 0, {16}, std::string(64, '\0'));
  return writer.bytes();
}

inline std::vector<Case> headerCases() {
  return {
      {"empty file", "", "empty"},
      {"one byte", "G", "not a GGUF file"},
      {"magic only", "GGUF", "ends within the version"},
      {"wrong magic", "GGML" + std::string(60, '\0'), "not a GGUF file"},
      {"a web page", "<!DOCTYPE html><html><body>404</body></html>", "web page"},
      {"a lfs pointer", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "LFS"},
      {"a zip", "PK\x03\x04 and so on", "zip"},
      {"bytes that are no text", "\xff\xfe\xfd\xfc\x01\n\x02", "not a GGUF file"},
      {"version 1", ggufHeader(0, 0, 1).bytes(), "version 1"},
      {"version 99", ggufHeader(0, 0, 99).bytes(), "version 99"},
      {"big-endian", ggufHeader(0, 0, 0x03000000u).bytes(), "big-endian"},
      {"no counts", "GGUF" + std::string("\3\0\0\0", 4), "ends within the tensor count"},
      {"entry count 2^64-1", ggufHeader(0, kHuge).bytes(), "metadata entries"},
      {"tensor count 2^64-1", ggufHeader(kHuge, 0).bytes(), "tensors"},
      {"tensor count wraps", ggufHeader((kHuge / 24) + 2, 0).zeros(64).bytes(), "tensors"},
      {"one entry too many", ggufHeader(0, 2).string("a.b").u32(4).u32(7).zeros(13).bytes(),
       "not a name"},
  };
}

inline std::vector<Case> metadataCases() {
  return {
      {"key of 2^48 bytes", ggufHeader(0, 1).u64(1ull << 48).zeros(32).bytes(), "bytes long"},
      {"key length wraps", ggufHeader(0, 1).u64(kHuge).zeros(32).bytes(), "bytes long"},
      {"key over the limit", ggufHeader(0, 1).string(std::string(70000, 'k')).u32(4).u32(1).bytes(),
       "65535"},
      {"empty key", ggufHeader(0, 1).string("").u32(4).u32(1).bytes(), "not a name"},
      {"key is no text", ggufHeader(0, 1).string("\xff\n\x01").u32(4).u32(1).bytes(), "not a name"},
      {"unknown value type", oneEntry(13, ByteString().u64(0)), "type 13"},
      {"value cut short", oneEntry(10, ByteString().u32(0)), "ends within"},
      {"string of 1 GiB", oneEntry(8, ByteString().u64(1ull << 30)), "bytes long"},
      {"string length 2^64-1", oneEntry(8, ByteString().u64(kHuge).zeros(8)), "bytes long"},
      {"bool of value 2", oneEntry(7, ByteString().u8(2)), "bool"},
      {"array of unknown type", oneEntry(9, ByteString().u32(99).u64(1).zeros(8)), "type 99"},
      {"array of 2^40 strings", oneEntry(9, ByteString().u32(8).u64(1ull << 40)), "announces"},
      {"array size wraps", oneEntry(9, ByteString().u32(4).u64((1ull << 62) + 1).zeros(8)),
       "announces"},
      {"array element too long", oneEntry(9, ByteString().u32(8).u64(1).u64(99).zeros(8)),
       "bytes long"},
      {"array of bools holds 7", oneEntry(9, ByteString().u32(7).u64(2).u8(1).u8(7)), "bool"},
      {"arrays nested 20,000 deep", nestedArrays(20000), "deeper"},
      {"arrays nested 5 deep", nestedArrays(5), "deeper"},
      {"a key twice",
       ggufHeader(0, 2).string("a.b").u32(4).u32(1).string("a.b").u32(4).u32(2).bytes(), "twice"},
  };
}

inline std::vector<Case> tensorCases() {
  return {
      {"type never defined", oneTensor({32}, 9999, 0, 128), "9999"},
      {"type 4 was removed", oneTensor({32}, 4, 0, 128), "type 4"},
      {"type 36 was removed", oneTensor({32}, 36, 0, 128), "type 36"},
      {"five dimensions", oneTensor({1, 1, 1, 1, 1}, 0, 0, 128), "5 dimensions"},
      {"a dimension of 0", oneTensor({16, 0}, 0, 0, 128), "size 0"},
      {"a dimension of 2^63", oneTensor({1ull << 63}, 0, 0, 128), "size 9223372036854775808"},
      {"dimensions wrap to 0", oneTensor({1ull << 32, 1ull << 32}, 0, 0, 128), "2^63"},
      {"four dimensions wrap", oneTensor({32, 1ull << 40, 1ull << 20, 2}, 0, 0, 128), "2^63"},
      {"bytes wrap", oneTensor({1ull << 62}, 0, 0, 128), ""},
      {"row is no whole block", oneTensor({33}, 2, 0, 128), "blocks of 32"},
      {"offset past the end", oneTensor({16}, 0, 4096, 128), "cut short"},
      {"offset 2^64-32", oneTensor({16}, 0, kHuge - 31, 128), "cut short"},
      {"offset not aligned", oneTensor({16}, 0, 8, 128), "multiple of 32"},
      {"data cut short", oneTensor({64}, 0, 0, 255), "cut short"},
      {"no data at all", oneTensor({64}, 0, 0, 0), "cut short"},
      {"a tensor twice", twoTensors("t", "t", 64), "twice"},
      {"tensors overlap", twoTensors("s", "t", 32), "overlap"},
      {"tensors at one place", twoTensors("s", "t", 0), "overlap"},
      {"empty name", twoTensors("", "t", 64), "0 bytes"},
      {"name of 65 bytes", twoTensors(std::string(65, 'n').c_str(), "t", 64), "65 bytes"},
      {"name is no text", twoTensors("\xff\xfe\n", "\xff\xfe\n", 64), "twice"},
      {"alignment 0", withAlignment(0), "general.alignment"},
      {"alignment 3", withAlignment(3), "general.alignment"},
      {"alignment 2^31", withAlignment(1u << 31), "general.alignment"},
  };
}

}  // namespace hostile_gguf
