// labels: pure
#include <QTest>
#include <fstream>
#include <iterator>
#include <set>

#include "engine/sim/workload_file.h"

using namespace engine;
using namespace engine::sim;

class WorkloadFileTest : public QObject {
  Q_OBJECT

 private slots:
  void ourRowsAreReadWithDefaultsForWhatTheyLeaveOut() {
    SamplingParams defaults;
    defaults.temperature = 0.5f;
    const auto workload = parseWorkload(
        R"({"id":"b","at_ms":20,"prompt":"Hi","max_tokens":5,"seed":7,"stop":"x"}
{"at_ms":10,"messages":[{"role":"user","content":"é"}],"temperature":0,"slo":{"ttft_ms":100}}

{"prompt_ids":[1,2,3],"at_ms":30,"priority":-2}
{"prompt_tokens":600,"hash_ids":[4,9],"at_ms":30,"ignore_eos":true}
)", defaults);
    QVERIFY2(workload.isOk(), workload.isOk() ? "" : workload.error().message.c_str());
    const auto& requests = workload->requests;
    QCOMPARE(requests.size(), std::size_t{4});
    QCOMPARE(requests[1].id, std::string("b"));  // sorted by time
    QCOMPARE(requests[1].sampling.temperature, 0.5f);
    QCOMPARE(requests[1].sampling.seed, 7u);
    QCOMPARE(requests[1].sampling.stop, std::vector<std::string>{"x"});
    QCOMPARE(requests[0].sampling.temperature, 0.0f);
    QCOMPARE(*requests[0].slo.ttftMs, 100.0);
    QVERIFY(std::get<ChatPrompt>(requests[0].prompt).conversationJson.find("é") != std::string::npos);
    QCOMPARE(std::get<TokenPrompt>(requests[2].prompt).ids, (std::vector<TokenId>{1, 2, 3}));
    QCOMPARE(requests[2].priority, -2);
    QCOMPARE(std::get<SyntheticPrompt>(requests[3].prompt), (SyntheticPrompt{600, 0, {4, 9}}));
    QVERIFY(requests[3].sampling.ignoreEos);
  }

  void aBadRowIsNamedWithItsNumberAndReason_data() {
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<QByteArray>("says");
    const QByteArray good = "{\"prompt\":\"Hi\"}\n";
    QTest::newRow("not JSON") << good + "{oops" << QByteArray("row 2: is not JSON");
    QTest::newRow("list") << good + "\n5" << QByteArray("row 3: is not an object");
    QTest::newRow("no prompt") << good + "{\"id\":\"x\"}" << QByteArray("has 0");
    QTest::newRow("two prompts") << good + "{\"prompt\":\"a\",\"prompt_ids\":[1]}" << QByteArray("has 2");
    QTest::newRow("unknown field") << good + "{\"prompt\":\"a\",\"temprature\":1}" << QByteArray("\"temprature\" is unknown");
    QTest::newRow("wrong type") << good + "{\"prompt\":\"a\",\"temperature\":\"hot\"}" << QByteArray("\"temperature\" must be a number");
    QTest::newRow("out of range") << good + "{\"prompt\":\"a\",\"temperature\":3}" << QByteArray("row 2: ");
    QTest::newRow("no tokens") << good + "{\"prompt\":\"a\",\"max_tokens\":0}" << QByteArray("\"max_tokens\" is 0");
    QTest::newRow("too large to fit") << good + "{\"prompt\":\"a\",\"top_k\":18446744073709551615}" << QByteArray("\"top_k\" is");
    const auto field = [&](const char* row, const QByteArray& json, const char* says) {
      QTest::newRow(row) << good + "{\"prompt\":\"a\"," + json + "}" << QByteArray(says);
    };
    field("typical", R"("typical_p":1.5)", "typical-p is 1.5; it takes 0 to 1");
    field("presence", R"("presence_penalty":-3)", "presence-penalty is -3; it takes -2 to 2");
    field("too small", R"("repetition_penalty":1e-300)", "\"repetition_penalty\" is 1e-300, which is 0 in 32-bit");
    field("bias list", R"("logit_bias":[5])", "\"logit_bias\" must be an object of token ids and numbers");
    field("bias word", R"("logit_bias":{"the":1})", "\"logit_bias\" names token \"the\", must name ids from 0 to 2147483647");
    field("bias id", R"("logit_bias":{"-1":1})", "names token \"-1\"");
    field("bias text", R"("logit_bias":{"5":"1"})", "\"logit_bias.5\" must be a number");
    field("bias range", R"("logit_bias":{"5":1e39})", "\"logit_bias.5\" is 1e+39, must be from -3.4028");
    field("many answers", R"("n":100000000000)", "\"n\" is 100000000000, must be from 1 to 1024");
    field("more than fit", R"("top_k":99999999999999999999)", "must be a whole number from 0 to 2147483647");
    QTest::newRow("empty ids") << good + "{\"prompt_ids\":[]}" << QByteArray("non-empty");
    QTest::newRow("messages of another type") << good + "{\"messages\":5}" << QByteArray("row 2: \"messages\" must be a list");
    QTest::newRow("empty file") << QByteArray(" \n\n") << QByteArray("empty");
    QTest::newRow("azure") << QByteArray("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.68,374,44\nsoon,1,2\n") << QByteArray("row 3: \"soon\" is no time");
    QTest::newRow("azure length") << QByteArray("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.68,x,44\n") << QByteArray("row 2: \"x\" is no number");
    QTest::newRow("azure header only") << QByteArray("TIMESTAMP,ContextTokens,GeneratedTokens\n") << QByteArray("no request");
    QTest::newRow("sharegpt") << QByteArray("[{\"conversations\":5}]") << QByteArray("row 1: has no list");
    QTest::newRow("mooncake") << QByteArray("{\"timestamp\":0,\"input_length\":-4,\"output_length\":1}") << QByteArray("\"prompt_tokens\" is -4");
  }

  void aBadRowIsNamedWithItsNumberAndReason() {
    QFETCH(QByteArray, text);
    QFETCH(QByteArray, says);
    const auto workload = parseWorkload(text.toStdString(), {});
    QVERIFY(!workload.isOk());
    QCOMPARE(workload.error().code, ErrorCode::InvalidArgument);
    QVERIFY2(workload.error().message.find(says.toStdString()) != std::string::npos, workload.error().message.c_str());
  }

  void everySeedOfTheFlagIsOneOfARow() {
    for (const std::string seed : {"0", "9223372036854775808", "18446744073709551615"}) {
      const auto workload = parseWorkload("{\"prompt\":\"Hi\",\"seed\":" + seed + "}", {});
      QVERIFY2(workload.isOk(), seed.c_str());
      QCOMPARE(std::to_string(workload->requests[0].sampling.seed), seed);
    }
    for (const std::string seed : {"-1", "18446744073709551616", "1.5", "\"1\"", "null"}) {
      const auto workload = parseWorkload("{\"prompt\":\"Hi\",\"seed\":" + seed + "}", {});
      QVERIFY2(!workload.isOk(), seed.c_str());
      QVERIFY2(workload.error().message.find("0 to 18446744073709551615") != std::string::npos,
               workload.error().message.c_str());
    }
  }

  void everySamplingFlagIsAField() {
    SamplingParams defaults;
    defaults.logitBias = {{1, 1.0f}};
    const auto workload = parseWorkload(
        R"({"prompt":"Hi","temperature":1e-300,"typical_p":0.25,"presence_penalty":-2,"frequency_penalty":1.5,)"
        R"("logit_bias":{"5":-1.5,"7":100}})"
        "\n{\"prompt\":\"Ho\"}", defaults);
    QVERIFY2(workload.isOk(), workload.isOk() ? "" : workload.error().message.c_str());
    const SamplingParams& given = workload->requests[0].sampling;
    QCOMPARE(given.temperature, 0.0f);
    QCOMPARE(given.typicalP, 0.25f);
    QCOMPARE(given.presencePenalty, -2.0f);
    QCOMPARE(given.frequencyPenalty, 1.5f);
    QCOMPARE(given.logitBias, (std::vector<std::pair<TokenId, float>>{{5, -1.5f}, {7, 100.0f}}));
    QCOMPARE(workload->requests[1].sampling.logitBias, defaults.logitBias);
  }

  void noTwoRequestsHaveOneId() {
    const auto twice = parseWorkload("{\"id\":\"a\",\"prompt\":\"x\"}\n\n{\"id\":\"a\",\"prompt\":\"y\"}", {});
    QCOMPARE(twice.error().message, std::string("row 3: \"id\" a is that of row 1 already; each row needs its own"));
    // a row without an id gets none that another row has
    const auto mixed = parseWorkload("{\"prompt\":\"x\"}\n{\"id\":\"0\",\"prompt\":\"y\"}\n{\"prompt\":\"z\"}", {});
    std::set<std::string> ids;
    for (const auto& request : mixed->requests) ids.insert(request.id);
    QCOMPARE(ids, (std::set<std::string>{"0", "0'", "2"}));
    // a dataset's own doubles are told apart
    const std::string entry = "{\"id\":\"a\",\"conversations\":[{\"value\":\"Hi\"},{\"value\":\"Hello\"}]}";
    const auto share = parseWorkload("[" + entry + "," + entry + "]", {});
    QVERIFY(share.isOk());
    QVERIFY(share->requests[0].id != share->requests[1].id);
  }

  void recordedFormatsAreRecognisedByContent() {
    const auto azure = parseWorkload("TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
                                     "2023-11-16 23:59:59.5,374,44\r\n2023-11-17 00:00:00.25,396,109\r\n", {});
    QVERIFY(azure.isOk());
    QCOMPARE(azure->format, WorkloadFormat::AzureCsv);
    QCOMPARE(azure->requests[1].atMs, 750.0);
    QCOMPARE(azure->requests[1].sampling.maxTokens, 109);

    const auto burst = parseWorkload("Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
                                     "5,ChatGPT,472,18,490,Conversation log\n45,GPT-4,1087,230,1317,\"API, log\"\n", {});
    QVERIFY(burst.isOk());
    QCOMPARE(burst->format, WorkloadFormat::BurstGptCsv);
    QCOMPARE(burst->requests[1].atMs, 40000.0);
    QCOMPARE(std::get<SyntheticPrompt>(burst->requests[1].prompt).tokens, 1087);

    const auto mooncake = parseWorkload("{\"timestamp\": 100, \"input_length\": 1030, \"output_length\": 6, \"hash_ids\": [0, 1, 2]}\n", {});
    QVERIFY(mooncake.isOk());
    QCOMPARE(mooncake->format, WorkloadFormat::Mooncake);
    QCOMPARE(mooncake->requests[0].atMs, 0.0);
    QVERIFY(mooncake->requests[0].sampling.ignoreEos);

    const auto share = parseWorkload("[{\"id\":\"a\",\"conversations\":[{\"from\":\"human\",\"value\":\"Hi\"},"
                                     "{\"from\":\"gpt\",\"value\":\"Hello!\"}]},{\"conversations\":[]}]", {});
    QVERIFY(share.isOk());
    QCOMPARE(share->format, WorkloadFormat::ShareGpt);
    QCOMPARE(share->requests.size(), std::size_t{1});
    QCOMPARE(share->requests[0].referenceAnswer, std::string("Hello!"));
  }

  void equalHashIdsMeanEqualTextAndOthersDiffer() {
    const PromptAlphabet alphabet = {10, 11, 12, 13, 14, 15, 16, 17};
    const auto a = synthesizePrompt({1100, 0, {5, 6}}, alphabet, 1, 0);
    const auto b = synthesizePrompt({1100, 0, {5, 7}}, alphabet, 1, 1);
    QCOMPARE(a.size(), std::size_t{1100});
    QVERIFY(std::equal(a.begin(), a.begin() + 512, b.begin()));
    QVERIFY(!std::equal(a.begin() + 512, a.begin() + 1024, b.begin() + 512));
    QVERIFY(!std::equal(a.begin() + 1024, a.end(), b.begin() + 1024));
    QCOMPARE(a, synthesizePrompt({1100, 0, {5, 6}}, alphabet, 1, 0));
    const auto c = synthesizePrompt({40, 30, {}}, alphabet, 1, 8);
    const auto d = synthesizePrompt({40, 30, {}}, alphabet, 1, 9);
    QVERIFY(std::equal(c.begin(), c.begin() + 30, d.begin()));
    QVERIFY(!std::equal(c.begin() + 30, c.end(), d.begin() + 30));
  }

  void handedTracesAreReadWhole() {
    const QString shared = qEnvironmentVariable("TESSERA_SHARED");
    if (shared.isEmpty()) QSKIP("TESSERA_SHARED is not set: no recorded traces here");
    const auto azure = readWorkloadFile((shared + "/traces/azure_conv.csv").toStdString(), {});
    QVERIFY2(azure.isOk(), azure.isOk() ? "" : azure.error().message.c_str());
    QCOMPARE(azure->requests.size(), std::size_t{19366});
    const auto mooncake = readWorkloadFile((shared + "/traces/mooncake_synthetic.jsonl").toStdString(), {});
    QVERIFY2(mooncake.isOk(), mooncake.isOk() ? "" : mooncake.error().message.c_str());
    QCOMPARE(mooncake->requests.size(), std::size_t{3993});
  }
};

QTEST_GUILESS_MAIN(WorkloadFileTest)
#include "tst_workload_file.moc"
