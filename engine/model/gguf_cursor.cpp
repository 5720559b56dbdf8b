#include "engine/model/gguf_cursor.h"

#include <string>

#include <fmt/format.h>

#include "engine/model/safe_text.h"

namespace engine::model {

namespace {

constexpr int kMaxArrayDepth = 4;

template <typename T, typename Wide>
Result<GgufValue> widened(Result<T> value) {
  if (!value) return value.error();
  return GgufValue(static_cast<Wide>(*value));
}

}  // namespace

Error GgufCursor::corrupt(std::string_view what) const {
  return fileError(ErrorCode::CorruptFile, m_path, what);
}

Error GgufCursor::truncated(std::string_view what) const {
  return corrupt(
      fmt::format("the file ends within {} ({} bytes are left)", safeText(what), left()));
}

Result<std::string_view> GgufCursor::readString(std::string_view what) {
  const std::uint64_t length = TRY(read<std::uint64_t>(what));
  if (length > left()) {
    return corrupt(fmt::format("{} is said to be {} bytes long, {} bytes are left in the file",
                               safeText(what), length, left()));
  }
  const auto* begin = reinterpret_cast<const char*>(m_bytes.data() + m_position);
  m_position += length;
  return std::string_view(begin, length);
}

Result<GgufType> GgufCursor::readType(std::string_view what) {
  const auto type = TRY(read<std::uint32_t>(what));
  if (type >= kNumGgufTypes) {
    return corrupt(fmt::format("{} has type {}, the format defines types 0 to {}", safeText(what),
                               type, kNumGgufTypes - 1));
  }
  return static_cast<GgufType>(type);
}

Result<GgufValue> GgufCursor::readValue(GgufType type, std::string_view what) {
  switch (type) {
    case GgufType::UInt8:
      return widened<std::uint8_t, std::uint64_t>(read<std::uint8_t>(what));
    case GgufType::Int8:
      return widened<std::int8_t, std::int64_t>(read<std::int8_t>(what));
    case GgufType::UInt16:
      return widened<std::uint16_t, std::uint64_t>(read<std::uint16_t>(what));
    case GgufType::Int16:
      return widened<std::int16_t, std::int64_t>(read<std::int16_t>(what));
    case GgufType::UInt32:
      return widened<std::uint32_t, std::uint64_t>(read<std::uint32_t>(what));
    case GgufType::Int32:
      return widened<std::int32_t, std::int64_t>(read<std::int32_t>(what));
    case GgufType::UInt64:
      return widened<std::uint64_t, std::uint64_t>(read<std::uint64_t>(what));
    case GgufType::Int64:
      return widened<std::int64_t, std::int64_t>(read<std::int64_t>(what));
    case GgufType::Float32:
      return widened<float, double>(read<float>(what));
    case GgufType::Float64:
      return widened<double, double>(read<double>(what));
    case GgufType::String:
      return GgufValue(TRY(readString(what)));
    case GgufType::Array:
      return readArray(what);
    case GgufType::Bool:
      break;
  }
  const auto value = TRY(read<std::uint8_t>(what));
  if (value > 1) {
    return corrupt(fmt::format("{} is a bool of value {}, not 0 or 1", safeText(what), value));
  }
  return GgufValue(value == 1);
}

Result<GgufValue> GgufCursor::readArray(std::string_view what) {
  if (m_depth >= kMaxArrayDepth) {
    return corrupt(fmt::format("{} nests arrays deeper than {}", safeText(what), kMaxArrayDepth));
  }
  GgufArray array;
  array.elementType = TRY(readType(what));
  array.count = TRY(read<std::uint64_t>(what));
  // By division: a product of a count from the file could wrap.
  if (array.count > left() / minimumBytes(array.elementType)) {
    return corrupt(fmt::format("{} announces {} elements of type {}, {} bytes are left in the file",
                               safeText(what), array.count, ggufTypeName(array.elementType),
                               left()));
  }
  const std::uint64_t begin = m_position;
  ++m_depth;
  TRY_VOID(skipElements(array.elementType, array.count, what));
  --m_depth;
  array.bytes = m_bytes.subspan(begin, m_position - begin);
  return GgufValue(array);
}

Result<void> GgufCursor::skipElements(GgufType type, std::uint64_t count, std::string_view what) {
  if (type == GgufType::Array) return skipArrays(count, what);
  if (type == GgufType::String) return skipStrings(count, what);
  if (type == GgufType::Bool) return skipBools(count, what);
  m_position += count * minimumBytes(type);  // fits: checked by readArray
  return {};
}

Result<void> GgufCursor::skipArrays(std::uint64_t count, std::string_view what) {
  for (std::uint64_t i = 0; i < count; ++i) {
    if (auto array = readArray(what); !array) return array.error();
  }
  return {};
}

Result<void> GgufCursor::skipStrings(std::uint64_t count, std::string_view what) {
  for (std::uint64_t i = 0; i < count; ++i) {
    if (auto text = readString(what); !text) return text.error();
  }
  return {};
}

Result<void> GgufCursor::skipBools(std::uint64_t count, std::string_view what) {
  for (std::uint64_t i = 0; i < count; ++i) {
    if (auto flag = readValue(GgufType::Bool, what); !flag) return flag.error();
  }
  return {};
}

bool GgufArrayReader::next(GgufValue& out) {
  if (m_left == 0) return false;
  --m_left;
  auto value = m_cursor.readValue(m_type, "an element");
  if (!value) return false;  // cannot be: the array was checked when its file was opened
  out = *value;
  return true;
}

}  // namespace engine::model
