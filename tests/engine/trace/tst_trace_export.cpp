// Exports and summaries: documents that parse and agree with the run.
#include <QtTest>

#include <nlohmann/json.hpp>

#include "engine/trace/trace_export.h"
#include "tests/support/choice_bench.h"
#include "tests/support/recorded_run.h"

using namespace engine;
using namespace engine::trace;
using test_support::RecordedRun;

class TestTraceExport : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase();
  void theSummaryCountsWhatHappened();
  void chromeHasATrackForEveryRequest();
  void chromeCountersAddUpToThePool();
  void csvHasALineForEveryIteration();
  void csvLeavesAnUnknownShareEmpty();
  void csvQuotesLabels();
  void branchesAreNoRequests();
  void aDamagedForkEndsNowhere();

 private:
  QTemporaryDir m_folder;
  Trace m_trace;
  TraceSummary m_summary;
  std::map<RequestId, test_support::ClientRequest> m_live;
};

void TestTraceExport::initTestCase() {
  const std::string path = m_folder.filePath(QStringLiteral("run.trace")).toStdString();
  {
    RecordedRun run(path);
    QVERIFY(run.play(/*kvBlocks=*/24));
    m_live = run.client.requests();
  }
  m_trace = std::move(readTrace(path)).value();
  m_summary = summariseTrace(m_trace);
}

void TestTraceExport::theSummaryCountsWhatHappened() {
  QCOMPARE(m_summary.requests.size(), std::size_t{7});
  std::uint64_t generated = 0, preemptions = 0;
  for (const RequestSummary& request : m_summary.requests) {
    const auto& live = m_live.at(request.id);
    QCOMPARE(request.text, live.text);
    QCOMPARE(request.ids, live.ids);
    QVERIFY(request.reason == live.finished.reason);
    generated += live.ids.size();
    preemptions += static_cast<std::uint64_t>(live.finished.preemptions);
  }
  QCOMPARE(m_summary.generatedTokens, generated);
  QCOMPARE(m_summary.preemptions, preemptions);
  QVERIFY(preemptions > 0);
  QCOMPARE(m_summary.lostEvents, std::uint64_t{0});
}

void TestTraceExport::chromeHasATrackForEveryRequest() {
  const auto document = nlohmann::json::parse(chromeJson(m_trace, m_summary));
  std::map<int, std::map<std::string, int>> slices;  // by track and name
  std::map<int, std::string> names;
  std::map<int, double> tokens;
  for (const auto& event : document["traceEvents"]) {
    if (event["ph"] == "X") {
      const int track = event["tid"];
      ++slices[track][event["name"]];
      QVERIFY(event["dur"].get<double>() >= 0);
      tokens[track] += event["args"].value("tokens", 0);
    }
    if (event["ph"] == "M" && event["name"] == "thread_name") {
      names[event["tid"]] = event["args"]["name"];
    }
  }
  QCOMPARE(names.size(), std::size_t{8});
  QCOMPARE(names[1], std::string("request 1 user 0"));
  QCOMPARE(names[7], std::string("request 7 too \"long\", by far"));
  QCOMPARE(slices[0]["iteration"], static_cast<int>(m_summary.iterations.size()));
  int preempted = 0;
  for (int track = 1; track <= 6; ++track) {
    QCOMPARE(slices[track]["queued"], 1);
    QVERIFY(slices[track]["prefill"] >= 1);
    QVERIFY(slices[track]["decode"] >= 1);
    preempted += slices[track]["preempted"];
  }
  QCOMPARE(preempted, static_cast<int>(m_summary.preemptions));
}

void TestTraceExport::chromeCountersAddUpToThePool() {
  const auto document = nlohmann::json::parse(chromeJson(m_trace, m_summary));
  int counters = 0;
  for (const auto& event : document["traceEvents"]) {
    if (event["ph"] != "C" || event["name"] != "KV blocks") continue;
    ++counters;
    const auto& values = event["args"];
    QCOMPARE(values["used"].get<int>() + values["cached"].get<int>() + values["free"].get<int>(),
             24);
  }
  QCOMPARE(counters, static_cast<int>(m_summary.iterations.size()));
}

void TestTraceExport::csvHasALineForEveryIteration() {
  const QStringList lines =
      QString::fromStdString(iterationsCsv(m_summary)).split(QLatin1Char('\n'), Qt::SkipEmptyParts);
  QCOMPARE(lines.size(), static_cast<qsizetype>(m_summary.iterations.size() + 1));
  const auto columns = lines.front().count(QLatin1Char(','));
  int tokens = 0;
  for (const QString& line : lines) {
    QCOMPARE(line.count(QLatin1Char(',')), columns);
    tokens += line.section(QLatin1Char(','), 7, 7).toInt();
  }
  int expected = 0;
  for (const IterationRecord& step : m_summary.iterations) expected += int(step.decodeTokens);
  QCOMPARE(tokens, expected);
  QVERIFY(lines.front().endsWith(QStringLiteral(",busy_share")));
}

void TestTraceExport::csvLeavesAnUnknownShareEmpty() {
  TraceSummary summary;
  summary.iterations.resize(2);
  summary.iterations[0].busyShare = 9'705;
  const QStringList lines =
      QString::fromStdString(iterationsCsv(summary)).split(QLatin1Char('\n'), Qt::SkipEmptyParts);
  QCOMPARE(lines[1].section(QLatin1Char(','), -1), QStringLiteral("0.9705"));
  QCOMPARE(lines[2].section(QLatin1Char(','), -1), QString());
}

void TestTraceExport::csvQuotesLabels() {
  const QString csv = QString::fromStdString(requestsCsv(m_summary));
  QCOMPARE(csv.count(QLatin1Char('\n')), 8);
  QVERIFY(csv.contains(QStringLiteral("7,\"too \"\"long\"\", by far\",refused,")));
}

// Two samples, three beams and one answer: three requests, and every answer's text its own.
void TestTraceExport::branchesAreNoRequests() {
  const std::string path = m_folder.filePath(QStringLiteral("choices.trace")).toStdString();
  std::map<RequestId, test_support::ClientRequest> live;
  {
    RecordedRun run(path);
    EngineConfig config;
    config.load.modelPath = "toy";
    config.load.kvBlocks = 200;
    config.load.blockSize = 4;
    QVERIFY(run.client.load(config));
    run.client.send(Pause{});
    run.client.submit(test_support::asking("two answers to this", test_support::seeded(9, 3), 2));
    run.client.submit(test_support::asking("beams", test_support::beams(3, 8), 1));
    run.client.submit(test_support::asking("one answer", test_support::seeded(7, 5), 1));
    run.client.send(Resume{});
    QVERIFY(run.client.waitForAll());
    QVERIFY(run.client.waitForState(EngineState::Idle));
    live = run.client.requests();
  }
  const Trace trace = std::move(readTrace(path)).value();
  const TraceSummary summary = summariseTrace(trace);
  QCOMPARE(summary.requests.size(), std::size_t{3});
  for (const RequestSummary& request : summary.requests) {
    const auto& told = live.at(request.id);
    QVERIFY(request.reason != FinishReason::None);
    QCOMPARE(request.text, told.text);
    QCOMPARE(request.ids, told.ids);
    QCOMPARE(request.others.size(), told.others.size());
    QCOMPARE(request.choices.size(), told.finished.choices.size());
    for (std::size_t i = 0; i < told.others.size(); ++i) {
      QCOMPARE(request.others[i].text, told.others[i].text);
      QCOMPARE(request.others[i].ids, told.others[i].ids);
    }
  }
  QCOMPARE(live.at(RequestId(1)).others.size(), std::size_t{1});
  QCOMPARE(live.at(RequestId(2)).others.size(), std::size_t{2});
  std::map<std::uint64_t, int> branches;
  for (const BranchSummary& branch : summary.branches) ++branches[branch.request.value];
  QCOMPARE(branches[1], 1);
  QVERIFY(branches[2] >= 2);
  QCOMPARE(branches.size(), std::size_t{2});
  QCOMPARE(QString::fromStdString(requestsCsv(summary)).count(QLatin1Char('\n')), 4);
  // a branch's steps have a track of their own, below its request's
  const auto document = nlohmann::json::parse(chromeJson(trace, summary));
  std::map<int, std::string> names;
  for (const auto& event : document["traceEvents"]) {
    if (event["ph"] == "M" && event["name"] == "thread_name") names[event["tid"]] = event["args"]["name"];
  }
  QCOMPARE(names[1], std::string("request 1"));
  QCOMPARE(names[2], std::string("request 1 branch 1"));
  QCOMPARE(names[3], std::string("request 2"));
  QCOMPARE(names.size(), 1 + summary.requests.size() + summary.branches.size());
}

void TestTraceExport::aDamagedForkEndsNowhere() {
  Trace trace;
  BranchRecord fork{};
  fork.request = fork.parent = kFirstChildId + 5;
  fork.op = BranchOp::Fork;
  trace.events.push_back({1, TraceEvent(fork)});
  fork.parent = kFirstChildId + 9;
  trace.events.push_back({2, TraceEvent(fork)});
  TextDelta delta;
  delta.request = RequestId(1);
  delta.choice = 1 << 30;
  trace.messages.push_back({3, delta});
  const TraceSummary summary = summariseTrace(trace);
  QCOMPARE(summary.branches.size(), std::size_t{1});
  QVERIFY(summary.branches[0].request.isNone());
  QCOMPARE(summary.requests.size(), std::size_t{1});
  QVERIFY(summary.requests[0].others.empty());
  QVERIFY(chromeJson(trace, summary).find("unknown request branch 1") != std::string::npos);
}

QTEST_GUILESS_MAIN(TestTraceExport)
#include "tst_trace_export.moc"
