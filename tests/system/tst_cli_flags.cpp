#include <QtTest/QtTest>

#include "app/cli/engine_flags.h"
#include "app/cli/flag_set.h"

using app::cli::FlagSet;
using app::cli::SamplingFlags;

namespace {

// One command that has all engine and sampling flags, as generate has.
struct Parsed {
  engine::EngineConfig config;
  SamplingFlags sampling;
  std::string error;  // empty = exit code 0
  std::string help;
};

Parsed parse(std::vector<std::string> arguments) {
  Parsed parsed;
  CLI::App app;
  FlagSet flags(app);
  app::cli::addEngineFlags(flags, parsed.config);
  app::cli::addSamplingFlags(flags, parsed.sampling);
  parsed.help = app.help();
  std::reverse(arguments.begin(), arguments.end());
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    parsed.error = error.what();
    return parsed;
  }
  if (const auto wrong = app::cli::engineFlagsError(parsed.config)) parsed.error = *wrong;
  if (const auto wrong = app::cli::samplingFlagsError(parsed.sampling.params, 1000)) {
    parsed.error = *wrong;
  }
  return parsed;
}

}  // namespace

class TestCliFlags : public QObject {
  Q_OBJECT

 private slots:
  void withoutFlagsTheDefaultsStand();
  void everyFlagReachesItsField();
  void theEndsOfEachRangeAreTaken_data();
  void theEndsOfEachRangeAreTaken();
  void outOfRangeNamesFlagValueAndLimits_data();
  void outOfRangeNamesFlagValueAndLimits();
  void wholeNumbersNameBothEnds_data();
  void wholeNumbersNameBothEnds();
  void whatIsTooSmallForAFloatIsZero();
  void aWrongEnvironmentIsSaidLikeAFlag();
  void whatIsNotBuiltSaysSo_data();
  void whatIsNotBuiltSaysSo();
  void stopAndBiasCollectAndTheOthersTakeTheLast();
};

void TestCliFlags::withoutFlagsTheDefaultsStand() {
  const Parsed parsed = parse({});
  QCOMPARE(parsed.error, std::string());
  QVERIFY(parsed.config == engine::EngineConfig());
  QVERIFY(parsed.sampling.params == engine::SamplingParams());
}

void TestCliFlags::everyFlagReachesItsField() {
  const Parsed parsed = parse({"--device",
                               "cpu",
                               "--isa",
                               "reference",
                               "--threads",
                               "3",
                               "--max-context",
                               "100",
                               "--block-size",
                               "32",
                               "--kv-memory",
                               "2M",
                               "--kv-blocks",
                               "7",
                               "--kv-dtype",
                               "f16",
                               "--max-batch",
                               "4",
                               "--queue-delay-ms",
                               "2.5",
                               "--max-seqs",
                               "5",
                               "--max-batched-tokens",
                               "64",
                               "--prefill-chunk",
                               "16",
                               "--long-prefill-threshold",
                               "99",
                               "--prefix-cache",
                               "off",
                               "--speculative-tokens",
                               "3",
                               "--speculate-adaptive",
                               "off",
                               "--temperature",
                               "0.5",
                               "--top-k",
                               "40",
                               "--top-p",
                               "0.9",
                               "--min-p",
                               "0.1",
                               "--repetition-penalty",
                               "1.5",
                               "--presence-penalty",
                               "-1",
                               "--frequency-penalty",
                               "1",
                               "--ignore-eos",
                               "--seed",
                               "18446744073709551615",
                               "--max-tokens",
                               "9",
                               "--priority",
                               "-2"});
  QCOMPARE(parsed.error, std::string());
  engine::EngineConfig config;
  config.load.device = engine::DeviceKind::Cpu;
  config.load.isa = engine::IsaKind::Reference;
  config.load.threads = 3;
  config.load.maxContext = 100;
  config.load.blockSize = 32;
  config.load.kvMemoryBytes = 2 << 20;
  config.load.kvBlocks = 7;
  config.load.kvDtype = engine::KvDType::F16;
  config.limits.maxBatch = 4;
  config.limits.queueDelayMs = 2.5;
  config.limits.maxSeqs = 5;
  config.limits.maxBatchedTokens = 64;
  config.limits.prefillChunk = 16;
  config.limits.longPrefillThreshold = 99;
  config.limits.prefixCache = false;
  config.limits.speculativeTokens = 3;
  config.limits.speculateAdaptive = false;
  QVERIFY(parsed.config == config);
  engine::SamplingParams params;
  params.temperature = 0.5f;
  params.topK = 40;
  params.topP = 0.9f;
  params.minP = 0.1f;
  params.repetitionPenalty = 1.5f;
  params.presencePenalty = -1.0f;
  params.frequencyPenalty = 1.0f;
  params.ignoreEos = true;
  params.seed = 18446744073709551615ull;
  params.maxTokens = 9;
  QVERIFY(parsed.sampling.params == params);
  QCOMPARE(parsed.sampling.priority, -2);
}

void TestCliFlags::theEndsOfEachRangeAreTaken_data() {
  QTest::addColumn<QString>("flag");
  QTest::addColumn<QString>("value");
  const auto row = [](const char* flag, const char* value) {
    QTest::addRow("%s %s", flag, value) << flag << value;
  };
  for (const char* flag : {"--top-p", "--min-p", "--typical-p"}) {
    row(flag, "0");
    row(flag, "1");
  }
  row("--temperature", "0");
  row("--temperature", "2");
  row("--top-k", "0");
  row("--top-k", "2147483647");
  row("--repetition-penalty", "0.001");
  row("--repetition-penalty", "10");
  row("--presence-penalty", "-2");
  row("--frequency-penalty", "2");
  row("--max-tokens", "1");
  row("--logit-bias", "999=-5.5");
  row("--stop", " ");
}

void TestCliFlags::theEndsOfEachRangeAreTaken() {
  QFETCH(QString, flag);
  QFETCH(QString, value);
  QCOMPARE(parse({flag.toStdString(), value.toStdString()}).error, std::string());
}

void TestCliFlags::outOfRangeNamesFlagValueAndLimits_data() {
  QTest::addColumn<QString>("flag");
  QTest::addColumn<QString>("value");
  QTest::addColumn<QString>("limit");
  const auto row = [](const char* flag, const char* value, const char* limit) {
    QTest::addRow("%s %s", flag, value) << flag << value << limit;
  };
  for (const char* value : {"nan", "-0.1", "2.5", "inf"}) row("--temperature", value, "2");
  for (const char* flag : {"--top-p", "--min-p", "--typical-p"}) {
    for (const char* value : {"nan", "-1", "1.5"}) row(flag, value, "0 to 1");
  }
  row("--temperature", "warm", "2");
  row("--temperature", "1,5", "2");
  row("--temperature", "1e30", "2");
  row("--top-k", "-5", "2147483647");
  row("--top-k", "2147483648", "2147483647");
  row("--top-k", "99999999999999999999", "2147483647");
  row("--repetition-penalty", "0", "10");
  row("--repetition-penalty", "nan", "10");
  row("--repetition-penalty", "10.5", "10");
  row("--presence-penalty", "-2.5", "2");
  row("--presence-penalty", "nan", "2");
  row("--frequency-penalty", "3", "2");
  row("--max-tokens", "0", "1 to 9223372036854775807");
  row("--max-tokens", "-3", "1 to 9223372036854775807");
  row("--max-tokens", "1.5", "1 to 9223372036854775807");
  row("--max-tokens", "", "1 to 9223372036854775807");
  row("--logit-bias", "1000=1", "999");
  row("--logit-bias", "-1=1", "0");
  row("--logit-bias", "5=nan", "of token 5 is nan; it takes -3.4028235e+38 to 3.4028235e+38");
  row("--logit-bias", "5=1e39", "is 5=1e39; it takes ID=B, a token id and a number from -3.4028235e+38 to 3.4028235e+38");
  row("--length-penalty", "1e39", "is 1e39; it takes -3.4028235e+38 to 3.4028235e+38");
  row("--logit-bias", "5", "3.4028235e+38");
  row("--seed", "-1", "18446744073709551615");
  row("--best-of", "0", "at least --n");
  row("--best-of", "two", "1 to 1024");
  row("--priority", "2147483648", "2147483647");
  row("--priority", "low", "2147483647");
  row("--seed", "18446744073709551616", "18446744073709551615");
  row("--max-tokens", "9223372036854775808", "1 to 9223372036854775807");
  row("--threads", "1025", "1024");
  row("--max-context", "-1", "0");
  row("--max-context", "9223372036854775808", "0");
  row("--kv-blocks", "1073741825", "1073741824");
  row("--kv-blocks", "-1", "1073741824");
  row("--max-seqs", "65537", "65536");
  row("--max-batch", "0", "1");
  row("--max-batched-tokens", "1048577", "1048576");
  row("--prefill-chunk", "-1", "1048576");
  row("--long-prefill-threshold", "-1", "1048576");
  row("--speculative-tokens", "0", "64");
  row("--speculative-tokens", "65", "64");
  row("--block-size", "12", "power of two");
  row("--block-size", "99999999999", "power of two");
  row("--threads", "-1", "0");
  row("--max-seqs", "0", "1");
  row("--max-batched-tokens", "0", "1");
  row("--queue-delay-ms", "nan", "0");
  row("--kv-memory", "12T", "bytes");
  row("--kv-memory", "-1", "bytes");
  row("--kv-memory", "9223372036854775807G", "bytes");
  row("--isa", "sse2", "avx512vnni");
  row("--prefix-cache", "maybe", "on or off");
}

void TestCliFlags::outOfRangeNamesFlagValueAndLimits() {
  QFETCH(QString, flag);
  QFETCH(QString, value);
  QFETCH(QString, limit);
  const std::string error = parse({flag.toStdString(), value.toStdString()}).error;
  QVERIFY2(error.rfind(flag.toStdString(), 0) == 0, error.c_str());
  QVERIFY2(error.find(limit.toStdString()) != std::string::npos, error.c_str());
  const QString shown = flag == "--logit-bias" || value == "1e30" ? QString() : value;
  QVERIFY2(error.find(shown.toStdString()) != std::string::npos, error.c_str());
}

void TestCliFlags::wholeNumbersNameBothEnds_data() {
  QTest::addColumn<QString>("flag");
  QTest::addColumn<QString>("least");
  QTest::addColumn<QString>("most");
  const auto row = [](const char* flag, const char* least, const char* most) {
    QTest::newRow(flag) << flag << least << most;
  };
  const char* mostTokens = "9223372036854775807";
  row("--threads", "0", "1024");
  row("--max-context", "0", mostTokens);
  row("--kv-blocks", "0", "1073741824");
  row("--max-batch", "1", "65536");
  row("--max-seqs", "1", "65536");
  row("--max-batched-tokens", "1", "1048576");
  row("--prefill-chunk", "0", "1048576");
  row("--long-prefill-threshold", "0", "1048576");
  row("--speculative-tokens", "1", "64");
  row("--top-k", "0", "2147483647");
  row("--seed", "0", "18446744073709551615");
  row("--max-tokens", "1", mostTokens);
  row("--n", "1", "1024");
  row("--best-of", "1", "1024");
  row("--beam-width", "0", "256");
  row("--priority", "-2147483648", "2147483647");
}

void TestCliFlags::wholeNumbersNameBothEnds() {
  QFETCH(QString, flag);
  QFETCH(QString, least);
  QFETCH(QString, most);
  for (const QString& end : {least, most}) {
    const std::string error = parse({flag.toStdString(), end.toStdString()}).error;
    QVERIFY2(error.find(" is " + end.toStdString() + "; it takes") == std::string::npos, error.c_str());
  }
  const std::string ends = QString("a whole number from %1 to %2").arg(least, most).toStdString();
  for (const char* value : {"-2147483649", "18446744073709551616", "99999999999999999999", "many", "1.5"}) {
    const std::string error = parse({flag.toStdString(), value}).error;
    QVERIFY2(error.starts_with(flag.toStdString() + " is " + value + "; it takes " + ends), error.c_str());
  }
  QString help = QString::fromStdString(parse({}).help).simplified();
  QVERIFY2(help.contains(flag + " " + QString::fromStdString(ends)) || help.contains(QString::fromStdString(ends)),
           qPrintable(help));
}

// As near to 0 as a float comes: a temperature of 0 is the likeliest token.
void TestCliFlags::whatIsTooSmallForAFloatIsZero() {
  for (const char* value : {"1e-300", "1e-99999999999999999999", "0.00000000000000000000000000000000000000000000000001"}) {
    const Parsed parsed = parse({"--temperature", value, "--top-p", value, "--logit-bias", std::string("5=-") + value});
    QCOMPARE(parsed.error, std::string());
    QCOMPARE(parsed.sampling.params.temperature, 0.0f);
    QCOMPARE(parsed.sampling.params.topP, 0.0f);
    QCOMPARE(parsed.sampling.params.logitBias.front().second, 0.0f);
  }
  QCOMPARE(parse({"--repetition-penalty", "1e-300"}).error,
           std::string("--repetition-penalty is 1e-300, which is 0 in 32-bit floating point; it takes values above 0 "
                       "up to 10"));
  QCOMPARE(parse({"--repetition-penalty", "0e-300"}).error,
           std::string("--repetition-penalty is 0; it takes values above 0 up to 10"));
  // a great one is none
  for (const char* value : {"1e300", "1e99999999999999999999", "100000000000000000000000000000000000000000e3"}) {
    QCOMPARE(parse({"--temperature", value}).error,
             std::string("--temperature is ") + value + "; it takes 0 to 2 (0: the likeliest token)");
  }
}

void TestCliFlags::aWrongEnvironmentIsSaidLikeAFlag() {
  const auto cleanup = qScopeGuard([] {
    qunsetenv("TESSERA_ISA");
    qputenv("TESSERA_PACKED_CACHE", "off");
  });
  qputenv("TESSERA_ISA", "foo");
  const std::string isa = parse({}).error;
  QVERIFY2(isa.starts_with("TESSERA_ISA is \"foo\"; it takes auto, reference"), isa.c_str());
  QCOMPARE(parse({"--isa", "reference"}).error, std::string());  // which asks nobody
  qunsetenv("TESSERA_ISA");
  qputenv("TESSERA_PACKED_CACHE", "rel/dir");
  const std::string folder = parse({}).error;
  QVERIFY2(folder.starts_with("TESSERA_PACKED_CACHE is \"rel/dir\"; it takes on, off"), folder.c_str());
}

void TestCliFlags::whatIsNotBuiltSaysSo_data() {
  QTest::addColumn<QStringList>("arguments");
  for (const QStringList& arguments : {QStringList{"--device", "cuda"}}) {
    QTest::addRow("%s", qPrintable(arguments.join(' '))) << arguments;
  }
}

void TestCliFlags::whatIsNotBuiltSaysSo() {
  QFETCH(QStringList, arguments);
  const std::string error = parse({arguments[0].toStdString(), arguments[1].toStdString()}).error;
  QVERIFY2(error.rfind(arguments[0].toStdString(), 0) == 0, error.c_str());
  QVERIFY2(error.find("not built yet") != std::string::npos, error.c_str());
}

void TestCliFlags::stopAndBiasCollectAndTheOthersTakeTheLast() {
  const Parsed parsed = parse({"--stop", "a b", "--stop", "[x,y]", "--logit-bias", "3=1", "--stop",
                               "--", "--logit-bias", "4=-1e2", "--seed", "1", "--seed", "2"});
  QCOMPARE(parsed.error, std::string());
  QCOMPARE(parsed.sampling.params.stop, (std::vector<std::string>{"a b", "[x,y]", "--"}));
  const std::vector<std::pair<engine::TokenId, float>> bias = {{3, 1.0f}, {4, -100.0f}};
  QCOMPARE(parsed.sampling.params.logitBias, bias);
  QCOMPARE(parsed.sampling.params.seed, std::uint64_t{2});
  QVERIFY(parse({"--stop", ""}).error.rfind("--stop", 0) == 0);
}

QTEST_GUILESS_MAIN(TestCliFlags)
#include "tst_cli_flags.moc"
