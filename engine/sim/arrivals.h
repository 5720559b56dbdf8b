// When requests of a drawn workload arrive and how long they are. Pure functions of a seed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/api/sampling_params.h"
#include "engine/base/result.h"
#include "engine/sim/workload.h"

namespace engine::sim {

enum class ArrivalKind : std::uint8_t { Closed, Poisson, Gamma, Ramp };

// Closed: all at once. Poisson and Gamma: gaps drawn from Gamma(shape = burstiness, mean 1/rate), then
// stretched so that the last arrival is exactly count/rate, as vLLM's benchmark does. Ramp: the rate
// grows linearly over the requests from rate/10 to rate.
struct ArrivalSpec {
  ArrivalKind kind = ArrivalKind::Closed;
  double ratePerSecond = 1.0;
  double burstiness = 1.0;  // Gamma only; below 1 burstier than Poisson
};

enum class LengthKind : std::uint8_t { Fixed, Uniform, LogNormal };

// Fixed: a. Uniform: a..b, whole, ends included. LogNormal: mu = a, sigma = b, of tokens, at least 1.
struct LengthSpec {
  LengthKind kind = LengthKind::Fixed;
  double a = 128, b = 0;
};

// The greatest values that checkDrawnWorkload takes.
inline constexpr std::int64_t kMaxDrawnRequests = 1'000'000, kMaxSharedPrefix = 1 << 24;

struct DrawnWorkloadSpec {
  std::int64_t requests = 16;
  ArrivalSpec arrivals;
  LengthSpec promptLengths, outputLengths;
  std::int64_t sharedPrefix = 0;  // tokens that every prompt begins with
  std::uint64_t seed = 0;
};

// One sentence naming field, value and limits: "rate is 0; it takes 1e-06 to 1000000".
Result<void> checkDrawnWorkload(const DrawnWorkloadSpec& spec);

// "fixed:128", "uniform:16:512", "lognormal:5.2:1.1"; InvalidArgument says what is wrong.
Result<LengthSpec> parseLengths(std::string_view text);
// "closed", "poisson", "gamma", "ramp"
Result<ArrivalKind> parseArrival(std::string_view text);

// Arrival times in ms, ascending, from 0.
std::vector<double> drawArrivalsMs(const ArrivalSpec& spec, std::int64_t count, std::uint64_t seed);

std::int64_t drawLength(const LengthSpec& spec, std::uint64_t seed, std::uint64_t index);

// Requests with fixed output lengths (end tokens ignored); `defaults` holds for the rest. A shared
// prefix longer than a prompt makes the prompt one token longer than it.
Workload drawWorkload(const DrawnWorkloadSpec& spec, const SamplingParams& defaults);

}  // namespace engine::sim
