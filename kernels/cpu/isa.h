// Which instruction sets a processor can run, from what CPUID and XGETBV say.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/core/ops.h"

namespace kernels::cpu {

// Registers as the processor gives them; made up in tests.
struct CpuFeatureWords {
  std::uint32_t leaf1Ecx = 0;
  std::uint32_t leaf7Ebx = 0, leaf7Ecx = 0, leaf7Edx = 0;
  std::uint32_t leaf7Sub1Eax = 0;
  std::uint64_t enabledState = 0;  // XCR0: what the operating system saves; 0 without OSXSAVE
};

CpuFeatureWords readCpuFeatures();

// As --isa and BackendInfo write it.
const char* isaName(Isa isa);

// Asks the system to let this process use tile registers; false when it will not.
bool requestTilePermission();

// Whether there are dot products of bf16 pairs beside AVX-512 (not every processor with VNNI has
// them), and whether they are as fast as two multiply-adds: Intel's cores, which have tile registers
// for them, take two cycles for one.
bool hasPairDots();
bool hasFastPairDots();

// Those of ours that can run, best first. Only sets that have kernels are listed.
std::vector<Isa> isasOf(const CpuFeatureWords& words);

}  // namespace kernels::cpu
