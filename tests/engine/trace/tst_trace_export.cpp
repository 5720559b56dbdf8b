// Exports and summaries: documents that parse and agree with the run.
#include <QtTest>

#include <nlohmann/json.hpp>

#include "engine/trace/trace_export.h"
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

QTEST_GUILESS_MAIN(TestTraceExport)
#include "tst_trace_export.moc"
