#include "engine/sim/arrivals.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>

#include "engine/base/random.h"

namespace engine::sim {

namespace {

// What a number is drawn for: each purpose has its own sequence.
enum Purpose : std::uint64_t { kGap = 1, kPromptLength = 2, kOutputLength = 3 };

class Draws {
 public:
  Draws(std::uint64_t seed, std::uint64_t purpose, std::uint64_t index)
      : m_seed(seed), m_key(mixBits(purpose) ^ index) {}

  // Uniform in (0, 1).
  double uniform() {
    return std::max(counterDraw(m_seed, m_key, m_count++, DrawStream::Workload), 0x1.0p-54);
  }
  double normal() {  // Box and Muller 1958
    const double radius = std::sqrt(-2.0 * std::log(uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
  }
  // Mean 1. Marsaglia and Tsang 2000.
  double gamma(double shape) {
    if (shape < 1.0) return gamma(shape + 1.0) * (shape + 1.0) * std::pow(uniform(), 1.0 / shape) / shape;
    const double d = shape - 1.0 / 3.0, c = 1.0 / std::sqrt(9.0 * d);
    while (true) {
      const double x = normal();
      const double v = std::pow(1.0 + c * x, 3.0);
      if (v > 0 && std::log(uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v / shape;
    }
  }

 private:
  std::uint64_t m_seed, m_key, m_count = 0;
};

Result<double> parseNumber(std::string_view text, std::string_view whole) {
  double value = 0;
  const auto [at, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || at != text.data() + text.size() || !std::isfinite(value)) {
    return Error{ErrorCode::InvalidArgument, fmt::format("\"{}\": \"{}\" is no number", whole, text)};
  }
  return value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

// The share of the full rate at request i of n under a ramp.
double rampShare(std::int64_t i, std::int64_t n) {
  return n < 2 ? 1.0 : 0.1 + 0.9 * static_cast<double>(i) / static_cast<double>(n - 1);
}

}  // namespace

Result<void> checkDrawnWorkload(const DrawnWorkloadSpec& spec) {
  constexpr double kLeastRate = 1e-6, kMostRate = 1e6, kLeastBurstiness = 0.01, kMostBurstiness = 1000;
  const auto isWithin = [](double value, double low, double high) {  // false for NaN
    return value >= low && value <= high;
  };
  const auto wrong = [](std::string sentence) { return Error{ErrorCode::InvalidArgument, std::move(sentence)}; };
  if (spec.requests < 1 || spec.requests > kMaxDrawnRequests) {
    return wrong(fmt::format("requests is {}; it takes 1 to {}", spec.requests, kMaxDrawnRequests));
  }
  if (!isWithin(spec.arrivals.ratePerSecond, kLeastRate, kMostRate)) {
    return wrong(fmt::format("rate is {}; it takes {} to {}", spec.arrivals.ratePerSecond, kLeastRate, kMostRate));
  }
  if (!isWithin(spec.arrivals.burstiness, kLeastBurstiness, kMostBurstiness)) {
    return wrong(fmt::format("burstiness is {}; it takes {} to {}", spec.arrivals.burstiness, kLeastBurstiness,
                             kMostBurstiness));
  }
  if (spec.sharedPrefix < 0 || spec.sharedPrefix > kMaxSharedPrefix) {
    return wrong(fmt::format("shared-prefix is {}; it takes 0 to {}", spec.sharedPrefix, kMaxSharedPrefix));
  }
  return {};
}

Result<LengthSpec> parseLengths(std::string_view text) {
  constexpr double kMax = 1e8;
  const auto parts = split(text, ':');
  const auto wrong = [text](std::string_view why) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("\"{}\" {}; use fixed:N, uniform:A:B or lognormal:MU:SIGMA", text, why)};
  };
  LengthSpec spec;
  if (parts[0] == "fixed" && parts.size() == 2) {
    spec = {LengthKind::Fixed, TRY(parseNumber(parts[1], text)), 0};
  } else if (parts[0] == "uniform" && parts.size() == 3) {
    spec = {LengthKind::Uniform, TRY(parseNumber(parts[1], text)), TRY(parseNumber(parts[2], text))};
    if (spec.b < spec.a) return wrong("ends before it begins");
  } else if (parts[0] == "lognormal" && parts.size() == 3) {
    spec = {LengthKind::LogNormal, TRY(parseNumber(parts[1], text)), TRY(parseNumber(parts[2], text))};
    if (spec.b < 0 || std::abs(spec.a) > 20 || spec.b > 10) return wrong("is out of range");
    return spec;
  } else {
    return wrong("is no distribution of lengths");
  }
  const auto isBad = [](double n) { return n < 1 || n > kMax || n != std::floor(n); };
  if (isBad(spec.a) || (spec.kind == LengthKind::Uniform && isBad(spec.b))) {
    return wrong(fmt::format("needs whole numbers from 1 to {:.0f}", kMax));
  }
  return spec;
}

Result<ArrivalKind> parseArrival(std::string_view text) {
  if (text == "closed") return ArrivalKind::Closed;
  if (text == "poisson") return ArrivalKind::Poisson;
  if (text == "gamma") return ArrivalKind::Gamma;
  if (text == "ramp") return ArrivalKind::Ramp;
  return Error{ErrorCode::InvalidArgument,
               fmt::format("\"{}\" is no arrival; use closed, poisson, gamma or ramp", text)};
}

std::vector<double> drawArrivalsMs(const ArrivalSpec& spec, std::int64_t count, std::uint64_t seed) {
  std::vector<double> times(static_cast<std::size_t>(count), 0.0);
  if (spec.kind == ArrivalKind::Closed || count == 0) return times;
  const double shape = spec.kind == ArrivalKind::Gamma ? spec.burstiness : 1.0;
  double at = 0.0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double rate =
        spec.kind == ArrivalKind::Ramp ? spec.ratePerSecond * rampShare(i, count) : spec.ratePerSecond;
    at += Draws(seed, kGap, static_cast<std::uint64_t>(i)).gamma(shape) * 1000.0 / rate;
    times[static_cast<std::size_t>(i)] = at;
  }
  if (spec.kind != ArrivalKind::Ramp && at > 0.0) {
    const double stretch = static_cast<double>(count) * 1000.0 / spec.ratePerSecond / at;
    for (double& time : times) time *= stretch;
  }
  return times;
}

std::int64_t drawLength(const LengthSpec& spec, std::uint64_t seed, std::uint64_t index) {
  Draws draws(seed, kPromptLength, index);
  switch (spec.kind) {
    case LengthKind::Fixed: return static_cast<std::int64_t>(spec.a);
    case LengthKind::Uniform:
      return static_cast<std::int64_t>(spec.a + std::floor(draws.uniform() * (spec.b - spec.a + 1)));
    case LengthKind::LogNormal:
      return std::max<std::int64_t>(
          1, static_cast<std::int64_t>(std::min(1e9, std::round(std::exp(spec.a + spec.b * draws.normal())))));
  }
  return 1;
}

Workload drawWorkload(const DrawnWorkloadSpec& spec, const SamplingParams& defaults) {
  Workload workload;
  const std::vector<double> times = drawArrivalsMs(spec.arrivals, spec.requests, spec.seed);
  for (std::int64_t i = 0; i < spec.requests; ++i) {
    const auto index = static_cast<std::uint64_t>(i);
    WorkloadRequest request;
    request.id = std::to_string(i);
    request.atMs = times[static_cast<std::size_t>(i)];
    SyntheticPrompt prompt;
    prompt.tokens = drawLength(spec.promptLengths, spec.seed, index);
    if (spec.sharedPrefix > 0) prompt.tokens = std::max(prompt.tokens, spec.sharedPrefix + 1);
    prompt.sharedPrefix = spec.sharedPrefix;
    request.prompt = std::move(prompt);
    request.sampling = defaults;
    request.sampling.ignoreEos = true;
    // Output lengths have a sequence of their own: another seed, not another index.
    request.sampling.maxTokens = drawLength(spec.outputLengths, mixBits(spec.seed ^ kOutputLength), index);
    workload.requests.push_back(std::move(request));
  }
  return workload;
}

}  // namespace engine::sim
