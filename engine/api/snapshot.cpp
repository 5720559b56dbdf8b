#include "engine/api/snapshot.h"

namespace engine {

const char* prefixMissName(PrefixMiss miss) {
  switch (miss) {
    case PrefixMiss::None:
      return "none";
    case PrefixMiss::BlockFloor:
      return "block-floor";
    case PrefixMiss::DifferentToken:
      return "different-token";
    case PrefixMiss::Evicted:
      return "evicted";
    case PrefixMiss::Namespace:
      return "namespace";
    case PrefixMiss::NeverSeen:
      return "never-seen";
    case PrefixMiss::Disabled:
      return "disabled";
  }
  return "unknown";
}

}  // namespace engine
