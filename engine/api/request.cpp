#include "engine/api/request.h"

namespace engine {

const char* finishReasonName(FinishReason reason) {
  switch (reason) {
    case FinishReason::None:
      return "none";
    case FinishReason::Stop:
      return "stop";
    case FinishReason::Length:
      return "length";
    case FinishReason::Cancelled:
      return "cancelled";
    case FinishReason::Refused:
      return "refused";
    case FinishReason::Failed:
      return "failed";
  }
  return "unknown";
}

}  // namespace engine
