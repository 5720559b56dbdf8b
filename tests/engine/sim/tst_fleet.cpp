// labels: pure
#include <QTest>
#include <cmath>
#include <numeric>

#include "engine/sim/arrivals.h"
#include "engine/sim/deployment.h"
#include "engine/sim/fleet.h"
#include "engine/sim/planner.h"

using namespace engine;
using namespace engine::sim;

namespace {

DeploymentSpec smallOnH100() {
  DeploymentSpec spec;
  spec.device = findDeviceCard("h100").value();
  spec.model = findModelCard("llama-3.1-8b").value();
  return spec;
}

FleetConfig fleetOf(const DeploymentSpec& spec) {
  const Deployment deployment = deploy(spec).value();
  FleetConfig fleet{.engine = {}, .cost = deployment.cost};
  fleet.engine.cache.blockSize = 16;
  fleet.engine.cache.numBlocks = deployment.capacityTokens / 16;
  fleet.engine.maxContext = fleet.engine.cache.maxContext = spec.model.maxContext;
  fleet.kvBytesPerToken = deployment.kvBytesPerToken;
  fleet.linkBytesPerSecond = 50e9;
  return fleet;
}

Workload uniform(std::int64_t count, std::int64_t prompt, std::int64_t output, double rate) {
  DrawnWorkloadSpec drawn;
  drawn.requests = count;
  if (rate > 0) drawn.arrivals = {ArrivalKind::Poisson, rate, 1};
  drawn.promptLengths = {LengthKind::Fixed, static_cast<double>(prompt), 0};
  drawn.outputLengths = {LengthKind::Fixed, static_cast<double>(output), 0};
  return drawWorkload(drawn, SamplingParams{});
}

FleetRun mustRun(const FleetConfig& fleet, const Workload& workload) {
  auto run = simulateFleet(fleet, workload);
  if (!run) qFatal("%s", run.error().message.c_str());
  return std::move(*run);
}

double p99Ttft(const FleetRun& run) {
  return summarizeServing(run.tracks, run.durationMs).ttft.p99;
}

}  // namespace

class FleetTest : public QObject {
  Q_OBJECT

 private slots:
  // one prompt of 700 tokens at a budget of 512: two prefill steps, then 49 decode steps
  void oneRequestTakesTheStepsItNeeds() {
    const FleetConfig fleet = fleetOf(smallOnH100());
    const FleetRun run = mustRun(fleet, uniform(1, 700, 50, 0));
    QCOMPARE(run.counters.steps, std::uint64_t{51});
    const accounting::RowCost first{512, 512, 0}, second{188, 700, 1};
    const double ttft = 1e3 * (fleet.cost.stepSeconds(std::span(&first, 1)) +
                               fleet.cost.stepSeconds(std::span(&second, 1)));
    QVERIFY(std::abs(run.answers[0].tokenMs.front() - ttft) < 1e-6);
    QCOMPARE(run.answers[0].tokenMs.size(), std::size_t{50});
    QCOMPARE(run.answers[0].outputTokens, 50);
    QCOMPARE(run.counters.leakedBlocks, 0);
  }

  void theSameSeedGivesTheSameRun() {
    const FleetConfig fleet = fleetOf(smallOnH100());
    const Workload workload = uniform(60, 900, 40, 20);
    const FleetRun a = mustRun(fleet, workload), b = mustRun(fleet, workload);
    for (std::size_t i = 0; i < a.answers.size(); ++i) {
      QVERIFY(a.answers[i].tokenMs == b.answers[i].tokenMs);
    }
  }

  void moreReplicasWaitLess() {
    FleetConfig fleet = fleetOf(smallOnH100());
    const Workload workload = uniform(200, 4000, 60, 20);
    const double one = p99Ttft(mustRun(fleet, workload));
    fleet.replicas = 4;
    const FleetRun four = mustRun(fleet, workload);
    QVERIFY(p99Ttft(four) < one / 4);
    QCOMPARE(summarizeServing(four.tracks, four.durationMs).completed, 200);
  }

  void aRequestThatNeverFitsIsRefusedWithItsReasonAndTheOthersRun() {
    FleetConfig fleet = fleetOf(smallOnH100());
    fleet.engine.cache.numBlocks = 64;  // 1,024 tokens
    Workload workload = uniform(3, 500, 20, 0);
    std::get<SyntheticPrompt>(workload.requests[1].prompt).tokens = 2000;
    const FleetRun run = mustRun(fleet, workload);
    QVERIFY(run.answers[1].finish == FinishReason::Refused);
    QVERIFY(run.answers[1].explanation.find("127") != std::string::npos);  // blocks needed
    QVERIFY(run.tracks[0].isSuccess && !run.tracks[1].isSuccess && run.tracks[2].isSuccess);
  }

  void sharedPrefixesAreFoundAndSaveTime() {
    FleetConfig fleet = fleetOf(smallOnH100());
    DrawnWorkloadSpec drawn;
    drawn.requests = 20;
    drawn.arrivals = {ArrivalKind::Poisson, 5, 1};
    drawn.promptLengths = {LengthKind::Fixed, 2064, 0};
    drawn.outputLengths = {LengthKind::Fixed, 10, 0};
    drawn.sharedPrefix = 2048;
    const Workload workload = drawWorkload(drawn, SamplingParams{});
    const FleetRun with = mustRun(fleet, workload);
    QCOMPARE(with.answers[19].cachedTokens, 2048);
    fleet.engine.limits.prefixCache = false;
    const FleetRun without = mustRun(fleet, workload);
    QCOMPARE(without.answers[19].cachedTokens, 0);
    QVERIFY(summarizeServing(with.tracks, 0).ttft.median <
            summarizeServing(without.tracks, 0).ttft.median / 2);
  }

  // Every guess holds: five tokens a pass, and the draft's passes are charged.
  void speculationGivesWhatItsAcceptanceSays() {
    FleetConfig fleet = fleetOf(smallOnH100());
    const double plain = mustRun(fleet, uniform(1, 100, 201, 0)).durationMs;
    fleet.engine.limits.speculation = SpeculationKind::Ngram;
    fleet.engine.limits.speculativeTokens = 4;
    fleet.engine.drafts = SimulatedDrafts{{1.0}, std::nullopt};
    const FleetRun all = mustRun(fleet, uniform(1, 100, 201, 0));
    QCOMPARE(all.speculation.passes, std::uint64_t{40});
    QCOMPARE(all.speculation.accepted, std::uint64_t{160});
    QVERIFY(all.durationMs < plain / 4.5);
    fleet.engine.drafts = SimulatedDrafts{{0.0}, std::nullopt};
    const FleetRun none = mustRun(fleet, uniform(1, 100, 201, 0));
    QCOMPARE(none.speculation.accepted, std::uint64_t{0});
    QVERIFY(none.durationMs > plain);
    DeploymentSpec draft = smallOnH100();
    draft.model = findModelCard("llama-3.2-1b").value();
    fleet.engine.drafts = SimulatedDrafts{{1.0}, deploy(draft)->cost};
    const FleetRun drafted = mustRun(fleet, uniform(1, 100, 201, 0));
    QVERIFY(drafted.durationMs > all.durationMs && drafted.durationMs < plain);
  }

  void acceptanceByPlaceIsMetOnAverage() {
    FleetConfig fleet = fleetOf(smallOnH100());
    fleet.engine.limits.speculation = SpeculationKind::Ngram;
    fleet.engine.limits.speculativeTokens = 3;
    fleet.engine.drafts = SimulatedDrafts{{0.8, 0.5}, std::nullopt};
    const FleetRun run = mustRun(fleet, uniform(40, 50, 400, 0));
    const auto passes = static_cast<double>(run.speculation.passes);
    const auto& places = run.speculation.acceptedByPosition;
    QVERIFY(std::abs(static_cast<double>(places[0]) / passes - 0.8) < 0.03);
    QVERIFY(std::abs(static_cast<double>(places[1]) / passes - 0.4) < 0.03);
    QVERIFY(std::abs(static_cast<double>(places[2]) / passes - 0.2) < 0.03);
  }

  // Decoders are not held up by prompts, and the link's time shows between first and second token.
  void separatePoolsKeepDecodingSmooth() {
    FleetConfig fleet = fleetOf(smallOnH100());
    fleet.engine.limits.maxBatchedTokens = 8192;
    const Workload workload = uniform(120, 6000, 80, 4);
    fleet.replicas = 2;
    const FleetRun mixed = mustRun(fleet, workload);
    fleet.prefillEngines = fleet.decodeEngines = 1;
    const FleetRun split = mustRun(fleet, workload);
    const ServingMetrics a = summarizeServing(mixed.tracks, 0), b = summarizeServing(split.tracks, 0);
    QCOMPARE(b.completed, 120);
    QVERIFY(b.itl.p99 < a.itl.p99 / 2);
    QCOMPARE(split.answers[7].outputTokens, 80);
    const double transferMs = 6000 * 131072.0 / 50e9 * 1e3;
    QVERIFY(split.answers[0].tokenMs[1] - split.answers[0].tokenMs[0] >= transferMs);
  }

  void aTextIsRefusedBecauseItsLengthIsNotKnown() {
    Workload workload = uniform(2, 10, 10, 0);
    workload.requests[1].prompt = TextPrompt{"hello"};
    const auto run = simulateFleet(fleetOf(smallOnH100()), workload);
    QVERIFY(!run && run.error().message.find(workload.requests[1].id) != std::string::npos);
  }

  void aPlanForSeventyBillionTakesTwoDevicesForOneUserAndMoreForMore() {
    PlanRequest request;
    request.deployment = smallOnH100();
    request.deployment.model = findModelCard("llama-3-70b").value();
    request.limits.maxSeqs = 4096;
    request.users = 1;
    const auto one = planServing(request);
    QVERIFY(one);
    QCOMPARE(one->tensorParallel, 2);
    QCOMPARE(one->devices(), 2);
    QCOMPARE(one->usersPerReplica, 1);
    QVERIFY(one->passedOver[0].find("141.1 GB") != std::string::npos);
    // two replicas of two devices hold two users; one of four holds far more
    request.users = 40;
    const auto forty = planServing(request);
    QVERIFY(forty);
    QCOMPARE(forty->devices(), 4);
    QCOMPARE(forty->tensorParallel, 4);
  }

  void aPlanForARateKeepsItsTargetsInTheSimulator() {
    PlanRequest request;
    request.deployment = smallOnH100();
    request.limits.maxSeqs = 256;
    request.length = 2000;
    request.outputTokens = 200;
    request.ratePerSecond = 40;
    request.slo = {500.0, 40.0};
    const auto plan = planServing(request);
    QVERIFY(plan);
    QVERIFY(plan->check.metShare >= kPlanMetShare);
    QVERIFY(plan->devices() > 1);
    request.slo.tpotMs = 0.5;  // less than reading the weights takes on sixteen devices
    const auto never = planServing(request);
    QVERIFY(!never && never.error().message.find("0.5 ms") != std::string::npos);
  }
};

QTEST_GUILESS_MAIN(FleetTest)
#include "tst_fleet.moc"
