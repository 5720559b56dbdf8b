#include "kernels/cpu/isa.h"

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace kernels::cpu {

namespace {

constexpr bool hasBits(std::uint64_t word, std::uint64_t bits) {
  return (word & bits) == bits;
}

constexpr std::uint64_t bit(int index) {
  return std::uint64_t{1} << index;
}

// Leaf 1 ECX
constexpr std::uint64_t kFma = bit(12), kOsXsave = bit(27), kAvx = bit(28), kF16c = bit(29);
// Leaf 7 EBX and ECX
constexpr std::uint64_t kAvx2 = bit(5), kBmi2 = bit(8);
constexpr std::uint64_t kAvx512FDqBwVl = bit(16) | bit(17) | bit(30) | bit(31);
constexpr std::uint64_t kAvx512VbmiVnni = bit(1) | bit(11);
constexpr std::uint64_t kAmxTiles = bit(22) | bit(24) | bit(25);  // leaf 7 EDX: bf16, tiles, int8
constexpr std::uint64_t kAvx512Fp16 = bit(23);                    // leaf 7 EDX
constexpr std::uint64_t kAvxVnni = bit(4), kAvx512Bf16 = bit(5);  // leaf 7, subleaf 1, EAX
// XCR0: xmm and ymm; mask registers and both halves of zmm
constexpr std::uint64_t kYmmState = bit(1) | bit(2);
constexpr std::uint64_t kZmmState = kYmmState | bit(5) | bit(6) | bit(7);
constexpr std::uint64_t kTileState = bit(17) | bit(18);  // their shapes and their contents

std::uint64_t readEnabledState() {
  std::uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<std::uint64_t>(high) << 32) | low;
}

}  // namespace

const char* isaName(Isa isa) {
  switch (isa) {
    case Isa::Avx2:
      return "avx2";
    case Isa::AvxVnni:
      return "avxvnni";
    case Isa::Avx512Vnni:
      return "avx512vnni";
    case Isa::Amx:
      return "amx";
    case Isa::AmxBf16:
      return "amx-bf16";
  }
  return "?";
}

CpuFeatureWords readCpuFeatures() {
  CpuFeatureWords words;
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0) return words;
  words.leaf1Ecx = ecx;
  if (hasBits(words.leaf1Ecx, kOsXsave)) words.enabledState = readEnabledState();
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0) {
    words.leaf7Ebx = ebx;
    words.leaf7Ecx = ecx;
    words.leaf7Edx = edx;
  }
  if (__get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0) words.leaf7Sub1Eax = eax;
  return words;
}

std::vector<Isa> isasOf(const CpuFeatureWords& words) {
  std::vector<Isa> isas;
  const bool hasAvx2 = hasBits(words.leaf1Ecx, kFma | kOsXsave | kAvx | kF16c) &&
                       hasBits(words.leaf7Ebx, kAvx2 | kBmi2) &&
                       hasBits(words.enabledState, kYmmState);
  const bool hasAvx512 = hasAvx2 && hasBits(words.leaf7Ebx, kAvx512FDqBwVl) &&
                         hasBits(words.leaf7Ecx, kAvx512VbmiVnni) &&
                         hasBits(words.enabledState, kZmmState);
  const bool hasAmx =
      hasAvx512 && hasBits(words.leaf7Sub1Eax, kAvx512Bf16) &&
      hasBits(words.leaf7Edx, kAmxTiles) && hasBits(words.enabledState, kTileState);
  if (hasAmx) isas.push_back(Isa::Amx);
  if (hasAmx && hasBits(words.leaf7Edx, kAvx512Fp16)) isas.push_back(Isa::AmxBf16);
  if (hasAvx512) isas.push_back(Isa::Avx512Vnni);
  if (hasAvx2 && hasBits(words.leaf7Sub1Eax, kAvxVnni)) isas.push_back(Isa::AvxVnni);
  if (hasAvx2) isas.push_back(Isa::Avx2);
  return isas;
}

bool hasPairDots() {
  const CpuFeatureWords words = readCpuFeatures();
  return hasBits(words.leaf7Sub1Eax, kAvx512Bf16) && hasBits(words.enabledState, kZmmState);
}

bool hasFastPairDots() {
  unsigned highestLeaf = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid(0, &highestLeaf, &ebx, &ecx, &edx) == 0) return false;
  return hasPairDots() && ebx != signature_INTEL_ebx;
}

bool requestTilePermission() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

std::span<const Isa> supportedIsas() {
  static const std::vector<Isa> isas = [] {
    std::vector<Isa> found = isasOf(readCpuFeatures());
    const auto needsTiles = [](Isa isa) { return isa == Isa::Amx || isa == Isa::AmxBf16; };
    if (std::any_of(found.begin(), found.end(), needsTiles) && !requestTilePermission()) {
      std::erase_if(found, needsTiles);
    }
    return found;
  }();
  return isas;
}

}  // namespace kernels::cpu
