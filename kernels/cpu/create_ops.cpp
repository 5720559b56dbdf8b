// Builds the CPU backend, or says in one sentence why not.
#include <algorithm>
#include <memory>
#include <new>
#include <string>
#include <system_error>

#include "kernels/core/request_check.h"
#include "kernels/cpu/cpu_ops.h"
#include "kernels/cpu/isa.h"

namespace kernels::cpu {

namespace {

Status unsupported(const std::string& what) {
  return Status::failed(Outcome::Unsupported, what);
}

// What these kernels cannot do although the request is well formed.
Status checkSupport(const BackendRequest& request, Isa isa) {
  const auto isas = supportedIsas();
  if (std::find(isas.begin(), isas.end(), isa) == isas.end()) {
    return unsupported(std::string("this processor cannot run the ") + isaName(isa) + " kernels");
  }
  const DecoderSpec& spec = *request.spec;
  if (spec.headDim % 2 != 0) {
    return unsupported("the CPU backend needs an even head size, not " +
                       std::to_string(spec.headDim));
  }
  if (spec.numHeads / spec.numKvHeads > kMaxItemRows) {
    return unsupported(std::to_string(spec.numHeads / spec.numKvHeads) +
                       " query heads share a KV head; the CPU backend takes up to " +
                       std::to_string(kMaxItemRows));
  }
  return Status::ok();
}

}  // namespace

BackendResult createOps(const BackendRequest& request, Isa isa) {
  BackendResult result;
  result.status = checkRequest(request);
  if (result.status.isOk()) result.status = checkSupport(request, isa);
  if (!result.status.isOk()) return result;
  try {
    auto ops = std::make_unique<CpuOps>(request, isa);
    result.status = ops->load(request);
    if (result.status.isOk()) result.ops = std::move(ops);
  } catch (const std::bad_alloc&) {
    result.status = Status::failed(Outcome::OutOfMemory, "no memory to build the CPU backend");
  } catch (const std::system_error& error) {
    result.status =
        Status::failed(Outcome::OutOfMemory, "cannot start " + std::to_string(request.threads) +
                                                 " threads: " + error.what());
  }
  return result;
}

}  // namespace kernels::cpu
