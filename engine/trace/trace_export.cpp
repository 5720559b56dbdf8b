#include "engine/trace/trace_export.h"

#include <cstdint>
#include <iterator>
#include <map>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace engine::trace {

namespace {

constexpr int kProcess = 1;
constexpr int kEngineTrack = 0;

// A JSON string literal. Text that comes from a model may hold bytes that are not UTF-8: they leave
// as U+FFFD.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const int length = byte < 0x80                   ? 1
                       : byte >= 0xC2 && byte < 0xE0 ? 2
                       : byte >= 0xE0 && byte < 0xF0 ? 3
                       : byte >= 0xF0 && byte < 0xF5 ? 4
                                                     : 0;
    bool isWhole = length > 0 && i + static_cast<std::size_t>(length) <= text.size();
    for (int k = 1; isWhole && k < length; ++k) {
      isWhole = (static_cast<unsigned char>(text[i + static_cast<std::size_t>(k)]) & 0xC0) == 0x80;
    }
    if (!isWhole) {
      out += "\\ufffd";
      ++i;
      continue;
    }
    if (byte == '"' || byte == '\\')
      out += {'\\', static_cast<char>(byte)};
    else if (byte < 0x20)
      out += fmt::format("\\u{:04x}", byte);
    else
      out += text.substr(i, static_cast<std::size_t>(length));
    i += static_cast<std::size_t>(length);
  }
  return out + "\"";
}

double us(std::int64_t ns) {
  return static_cast<double>(ns) / 1e3;
}

std::string csvText(std::string_view text) {
  if (text.find_first_of(",\"\n\r") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::string csvMs(std::int64_t ns) {
  return ns < 0 ? std::string() : fmt::format("{:.6f}", static_cast<double>(ns) / 1e6);
}

// Ten-thousandths; nothing where it is not known.
std::string csvShare(std::uint16_t share) {
  return share == 0 ? std::string() : fmt::format("{:.4f}", share / 1e4);
}

// Joins the events of a JSON document.
class ChromeEvents {
 public:
  void nameTrack(int track, const std::string& name) {
    add(R"({{"ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":{}}}}})", kProcess,
        track, quoted(name));
    add(R"({{"ph":"M","pid":{},"tid":{},"name":"thread_sort_index","args":{{"sort_index":{}}}}})",
        kProcess, track, track);
  }

  void slice(int track,
             const char* name,
             std::int64_t t0Ns,
             std::int64_t t1Ns,
             const std::string& arguments) {
    add(R"({{"ph":"X","pid":{},"tid":{},"name":"{}","ts":{:.3f},"dur":{:.3f},"args":{{{}}}}})",
        kProcess, track, name, us(t0Ns), us(t1Ns - t0Ns), arguments);
  }

  void counter(const char* name, std::int64_t ns, const std::string& values) {
    add(R"({{"ph":"C","pid":{},"name":"{}","ts":{:.3f},"args":{{{}}}}})", kProcess, name, us(ns),
        values);
  }

  std::string document(const std::string& program) const {
    return fmt::format(
        "{{\"displayTimeUnit\":\"ms\",\"otherData\":{{\"program\":{}}},"
        "\"traceEvents\":[\n{}\n]}}\n",
        quoted(program), m_events);
  }

 private:
  template <typename... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    if (!m_events.empty()) m_events += ",\n";
    fmt::format_to(std::back_inserter(m_events), format, std::forward<Args>(args)...);
  }

  std::string m_events;
};

// Blocks of the pool; 0 when no snapshot tells.
std::int64_t numBlocks(const Trace& trace) {
  for (std::size_t i = trace.snapshots.size(); i-- > 0;) {
    if (!trace.snapshots[i].value.isKey && i > 0) continue;
    const EngineSnapshot snapshot = trace.snapshotAt(i);
    if (snapshot.pool) return snapshot.pool->numBlocks;
  }
  return 0;
}

void addIterations(ChromeEvents& events, const TraceSummary& summary, std::int64_t blocks) {
  events.nameTrack(kEngineTrack, "engine");
  for (const IterationRecord& step : summary.iterations) {
    events.slice(
        kEngineTrack, "iteration", step.t0Ns, step.t1Ns,
        fmt::format(R"("id":{},"prefill_tokens":{},"decode_tokens":{},"schedule_us":{:.3f},)"
                    R"("model_us":{:.3f},"sample_us":{:.3f},"limit":"{}")",
                    step.id, step.prefillTokens, step.decodeTokens, us(step.scheduleNs),
                    us(step.modelNs), us(step.sampleNs), reasonName(step.limit)));
    events.counter("requests", step.t0Ns,
                   fmt::format(R"("running":{},"waiting":{})", step.running, step.waiting));
    const std::int64_t used = blocks - step.freeBlocks - step.cachedBlocks;
    events.counter(
        "KV blocks", step.t1Ns,
        blocks > 0 ? fmt::format(R"("used":{},"cached":{},"free":{})", used, step.cachedBlocks,
                                 step.freeBlocks)
                   : fmt::format(R"("cached":{},"free":{})", step.cachedBlocks, step.freeBlocks));
  }
}

void addTrack(ChromeEvents& events,
              const std::string& name,
              const std::vector<RequestSpan>& spans,
              int track) {
  events.nameTrack(track, name);
  for (const RequestSpan& span : spans) {
    const bool isStep = span.tokens > 0;
    events.slice(track, spanName(span.kind), span.t0Ns, span.t1Ns,
                 isStep ? fmt::format(R"("iteration":{},"tokens":{},"kv_length":{})",
                                      span.iteration, span.tokens, span.kvLength)
                        : std::string());
  }
}

// A request's further sequences have tracks right below its own; of those whose request is not
// known, below all.
void addRequests(ChromeEvents& events, const TraceSummary& summary) {
  std::multimap<RequestId, const BranchSummary*> branches;
  for (const BranchSummary& branch : summary.branches) branches.emplace(branch.request, &branch);
  int track = kEngineTrack;
  const auto addBranches = [&](RequestId id, const std::string& name) {
    int number = 0;
    const auto [begin, end] = branches.equal_range(id);
    for (auto it = begin; it != end; ++it) {
      addTrack(events, fmt::format("{} branch {}", name, ++number), it->second->spans, ++track);
    }
  };
  for (const RequestSummary& request : summary.requests) {
    const std::string name = fmt::format("request {}", request.id.value);
    addTrack(events, request.label.empty() ? name : name + " " + request.label, request.spans,
             ++track);
    addBranches(request.id, name);
  }
  addBranches(RequestId(), "unknown request");
}

}  // namespace

std::string chromeJson(const Trace& trace, const TraceSummary& summary) {
  ChromeEvents events;
  addIterations(events, summary, numBlocks(trace));
  addRequests(events, summary);
  return events.document(trace.header.program);
}

std::string iterationsCsv(const TraceSummary& summary) {
  std::string out =
      "iteration,t0_ms,t1_ms,schedule_ms,model_ms,sample_ms,prefill_tokens,decode_tokens,"
      "draft_tokens,running,waiting,free_blocks,cached_blocks,flops,bytes,budget,limit,"
      "linear_ms,attention_ms,busy_share\n";
  for (const IterationRecord& step : summary.iterations) {
    fmt::format_to(
        std::back_inserter(out), "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n",
        step.id, csvMs(step.t0Ns), csvMs(step.t1Ns), csvMs(step.scheduleNs), csvMs(step.modelNs),
        csvMs(step.sampleNs), step.prefillTokens, step.decodeTokens, step.draftTokens, step.running,
        step.waiting, step.freeBlocks, step.cachedBlocks, step.flops, step.bytes, step.budget,
        reasonName(step.limit), csvMs(step.linearNs), csvMs(step.attentionNs),
        csvShare(step.busyShare));
  }
  return out;
}

std::string requestsCsv(const TraceSummary& summary) {
  std::string out =
      "request,label,finish_reason,prompt_tokens,completion_tokens,cached_tokens,preemptions,"
      "arrival_ms,tokenised_ms,admitted_ms,prefilled_ms,first_token_ms,last_token_ms,finished_ms\n";
  for (const RequestSummary& request : summary.requests) {
    const RequestTimes& times = request.times;
    fmt::format_to(std::back_inserter(out), "{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n",
                   request.id.value, csvText(request.label), finishReasonName(request.reason),
                   request.usage.promptTokens, request.usage.completionTokens,
                   request.usage.cachedTokens, request.preemptions, csvMs(times.arrivalNs),
                   csvMs(times.tokenisedNs), csvMs(times.admittedNs), csvMs(times.prefilledNs),
                   csvMs(times.firstTokenNs), csvMs(times.lastTokenNs), csvMs(times.finishedNs));
  }
  return out;
}

}  // namespace engine::trace
