#include "app/cli/metadata_json.h"

#include <string_view>
#include <type_traits>
#include <variant>

#include "engine/model/gguf_cursor.h"
#include "engine/model/safe_text.h"

namespace app::cli {

namespace {

using engine::model::GgufArray;
using engine::model::GgufArrayReader;
using engine::model::GgufValue;

constexpr std::uint64_t kMaxListed = 256;
constexpr int kMaxDepth = 8;  // arrays of arrays

Json valueJson(const GgufValue& value, int depth);

Json arrayJson(const GgufArray& array, int depth) {
  if (array.count > kMaxListed || depth >= kMaxDepth) {
    return {{"array_of", engine::model::ggufTypeName(array.elementType)}, {"count", array.count}};
  }
  Json elements = Json::array();
  GgufArrayReader reader(array);
  for (GgufValue element; reader.next(element);) elements.push_back(valueJson(element, depth + 1));
  return elements;
}

Json valueJson(const GgufValue& value, int depth) {
  return std::visit(
      [depth](const auto& held) -> Json {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, GgufArray>) {
          return arrayJson(held, depth);
        } else if constexpr (std::is_same_v<Held, std::string_view>) {
          return engine::model::validUtf8(held);
        } else {
          return held;
        }
      },
      value);
}

}  // namespace

Json metadataJson(const engine::model::GgufMetadata& metadata) {
  Json document = Json::object();
  for (const auto& entry : metadata.entries()) {
    document[engine::model::validUtf8(entry.key)] = valueJson(entry.value, 0);
  }
  return document;
}

}  // namespace app::cli
