// Everything a front end can tell the engine: one variant through one mailbox.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "engine/api/engine_config.h"
#include "engine/api/request.h"
#include "engine/base/ids.h"

namespace engine {

// Replaces the loaded model. A second LoadModel while one loads cancels the first: the last wins.
struct LoadModel {
  EngineConfig config;
};
struct CancelLoad {};
struct UnloadModel {};
struct Submit {
  RequestSpec spec;
};
struct Cancel {
  RequestId id;
};
struct SetLimits {
  SchedulerLimits limits;
};
struct Pause {};   // at the next iteration boundary
struct Resume {};
struct StepOnce {  // while paused
  int count = 1;
};

// Questions, answered by a QueryAnswer message with the same id.
struct CountTokensQuery {
  ChatPrompt conversation;
};
struct TokenizeQuery {
  std::string text;
};
// Memory of a model file under a configuration, without loading it.
struct EstimateQuery {
  LoadConfig config;
};
struct Query {
  QueryId id;
  std::variant<CountTokensQuery, TokenizeQuery, EstimateQuery> question;
};

using Command = std::variant<LoadModel, CancelLoad, UnloadModel, Submit, Cancel, SetLimits, Pause,
                             Resume, StepOnce, Query>;

}  // namespace engine
