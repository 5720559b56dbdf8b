#include "engine/exec/backend_choice.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "engine/api/kv_type.h"

namespace engine::exec {

namespace {

using kernels::cpu::Isa;

// Best first. AmxBf16 reads prompts at twice Amx's speed, is closer to float32 by far and serves
// from eight users on faster. One answer at a time is a fifth slower where two threads alone read
// from a large cache, as measured here; threads that share a memory's bandwidth have time to unpack.
constexpr std::array kBestFirst = {Isa::AmxBf16, Isa::Amx, Isa::Avx512Vnni, Isa::AvxVnni,
                                   Isa::Avx2};

IsaKind kindOf(Isa isa) {
  switch (isa) {
    case Isa::Avx2:
      return IsaKind::Avx2;
    case Isa::AvxVnni:
      return IsaKind::AvxVnni;
    case Isa::Avx512Vnni:
      return IsaKind::Avx512Vnni;
    case Isa::Amx:
      return IsaKind::Amx;
    case Isa::AmxBf16:
      return IsaKind::AmxBf16;
  }
  return IsaKind::Reference;
}

bool isIn(Isa isa, std::span<const Isa> supported) {
  return std::ranges::find(supported, isa) != supported.end();
}

Result<IsaKind> parseIsa(std::string_view name) {
  for (const IsaKind kind : kIsaKinds) {
    if (name == isaName(kind)) return kind;
  }
  return Error{ErrorCode::InvalidArgument,
               fmt::format("TESSERA_ISA is \"{}\"; it takes auto, reference, avx2, avxvnni, "
                           "avx512vnni, amx or amx-bf16",
                           name)};
}

std::string namesOf(std::span<const Isa> supported) {
  std::string names = "reference";
  for (const Isa isa : supported) names += fmt::format(", {}", isaName(kindOf(isa)));
  return names;
}

BackendChoice bestOf(std::span<const Isa> supported) {
  for (const Isa isa : kBestFirst) {
    if (isIn(isa, supported)) return {isa, "", false};
  }
  return {std::nullopt,
          "this processor has no AVX2, so the plain float32 recipe runs, which is slow", false};
}

}  // namespace

Result<BackendChoice> chooseBackend(IsaKind asked,
                                    const char* environment,
                                    std::span<const Isa> supported) {
  if (asked == IsaKind::Auto && environment != nullptr && *environment != '\0') {
    asked = TRY(parseIsa(environment));
  }
  if (asked == IsaKind::Auto) return bestOf(supported);
  if (asked == IsaKind::Reference) return BackendChoice{std::nullopt, "", true};
  for (const Isa isa : kBestFirst) {
    if (kindOf(isa) == asked && isIn(isa, supported)) return BackendChoice{isa, "", true};
  }
  return Error{ErrorCode::Unsupported, fmt::format("this machine cannot run --isa {}; it runs {}",
                                                   isaName(asked), namesOf(supported))};
}

kernels::KvType chooseKvType(KvDType asked, const BackendChoice& backend) {
  const bool isFast = backend.cpuIsa.has_value();
  return kvTypeOf(asked).value_or(isFast ? kernels::KvType::BF16 : kernels::KvType::F32);
}

}  // namespace engine::exec
