#include "engine/text/origin_text.h"

namespace engine::text {

std::string plainText(const OriginText& text) {
  std::size_t length = 0;
  for (const OriginRun& run : text) length += run.text.size();
  std::string plain;
  plain.reserve(length);
  for (const OriginRun& run : text) plain += run.text;
  return plain;
}

}  // namespace engine::text
