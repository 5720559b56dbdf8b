// Real vocabularies of three models against committed ids; skipped where $TESSERA_MODELS has none.

// labels: golden
#include <QtTest/QtTest>

#include <cstdlib>
#include <fstream>
#include <map>

#include <nlohmann/json.hpp>

#include "engine/model/gguf_vocabulary.h"
#include "engine/text/stream_decoder.h"
#include "engine/text/tokenizer.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/processor_timer.h"
#include "tests/support/small_vocabulary.h"

using engine::ErrorCode;
using engine::Result;
using engine::TokenId;
using engine::text::createTokenizer;
using engine::text::Origin;
using engine::text::OriginText;
using engine::text::SpecialTokens;
using engine::text::Tokenizer;
using engine::text::TokenType;
using engine::text::Vocabulary;
using Ids = std::vector<TokenId>;

namespace {

std::string sourceFile(const std::string& path) {
  const char* root = std::getenv("TESSERA_SOURCE_DIR");
  return test_support::readFile((root ? std::string(root) : std::string(".")) + "/" + path);
}

// Null when the model is not there.
const Tokenizer* modelTokenizer(const std::string& name) {
  static std::map<std::string, std::unique_ptr<Tokenizer>> loaded;
  if (const auto found = loaded.find(name); found != loaded.end()) return found->second.get();
  std::unique_ptr<Tokenizer>& slot = loaded[name];
  const char* folder = std::getenv("TESSERA_MODELS");
  if (!folder || !std::ifstream(std::string(folder) + "/" + name)) return nullptr;
  const auto file = engine::model::GgufFile::open(std::string(folder) + "/" + name);
  slot =
      std::move(createTokenizer(std::move(engine::model::readVocabulary(*file)).value())).value();
  return slot.get();
}

OriginText textOf(const nlohmann::json& row) {
  if (row.contains("licenceBytes")) {
    return {{sourceFile("LICENSE").substr(0, row["licenceBytes"].get<std::size_t>()),
             Origin::Template}};
  }
  if (row.contains("text")) return {{row["text"].get<std::string>(), Origin::Template}};
  OriginText text;
  for (const auto& run : row["runs"]) {
    text.push_back(
        {run[0].get<std::string>(), run[1] == "template" ? Origin::Template : Origin::User});
  }
  return text;
}

}  // namespace

class TestTokenizer : public QObject {
  Q_OBJECT

 private slots:
  void anUnknownTokenizerModelIsNamed();
  void partsThatDoNotFitAreRefused();
  void endOfGenerationIsFoundByIdAndByName();
  void idsOfRealModels_data();
  void idsOfRealModels();
  void endTokensOfRealModels();
  void aMegabyteOfRealTextIsQuick_data();
  void aMegabyteOfRealTextIsQuick();
};

void TestTokenizer::anUnknownTokenizerModelIsNamed() {
  Vocabulary vocabulary;
  vocabulary.model = "rwkv";
  vocabulary.tokens = {"a"};
  const auto tokenizer = createTokenizer(vocabulary);
  QVERIFY(!tokenizer);
  QCOMPARE(tokenizer.error().code, ErrorCode::Unsupported);
  QVERIFY(tokenizer.error().message.find("rwkv") != std::string::npos);
}

void TestTokenizer::partsThatDoNotFitAreRefused() {
  const Vocabulary good = test_support::byteBpeVocabulary("gpt-2", {"h e"});
  QVERIFY(createTokenizer(good).isOk());
  const auto refused = [&](auto spoil) {
    Vocabulary vocabulary = good;
    spoil(vocabulary);
    const auto tokenizer = createTokenizer(vocabulary);
    return !tokenizer && tokenizer.error().code == ErrorCode::CorruptFile;
  };
  QVERIFY(refused([](Vocabulary& v) { v.tokens.clear(); }));
  QVERIFY(refused([](Vocabulary& v) { v.types.pop_back(); }));
  QVERIFY(refused([](Vocabulary& v) { v.scores = {1.0f}; }));
  QVERIFY(refused([](Vocabulary& v) { v.eos = 257; }));
  QVERIFY(refused([](Vocabulary& v) { v.merges.push_back("x y"); }));
  QVERIFY(refused([](Vocabulary& v) { v.merges.push_back("xy"); }));
}

void TestTokenizer::endOfGenerationIsFoundByIdAndByName() {
  Vocabulary vocabulary = test_support::byteBpeVocabulary("gpt-2", {});
  const TokenId turn = test_support::addToken(vocabulary, "<end_of_turn>", TokenType::Normal);
  test_support::addToken(vocabulary, "<|start|>", TokenType::Control);
  const TokenId eot = test_support::addToken(vocabulary, "<|eot_id|>", TokenType::Control);
  vocabulary.eos = 3;
  vocabulary.eot = eot;
  const auto tokenizer = createTokenizer(vocabulary);
  QCOMPARE((*tokenizer)->endOfGeneration(), (Ids{3, turn, eot}));
  // Typed as plain text in the file, it would otherwise be a marker that a user can write.
  QCOMPARE((*tokenizer)->vocabulary().types[static_cast<std::size_t>(turn)], TokenType::Control);
}

void TestTokenizer::idsOfRealModels_data() {
  QTest::addColumn<QString>("row");
  const auto rows = nlohmann::json::parse(sourceFile("tests/engine/text/data/model_ids.json"));
  QVERIFY(rows.size() > 60);
  int number = 0;
  for (const auto& row : rows) {
    QTest::addRow("%d %s %s", number++, row["model"].get<std::string>().c_str(),
                  row["case"].get<std::string>().c_str())
        << QString::fromStdString(row.dump());
  }
}

void TestTokenizer::idsOfRealModels() {
  QFETCH(QString, row);
  const auto expected = nlohmann::json::parse(row.toStdString());
  const Tokenizer* tokenizer = modelTokenizer(expected["model"]);
  if (!tokenizer) QSKIP("needs the model in $TESSERA_MODELS");
  const OriginText text = textOf(expected);
  const bool isPlain = expected["mode"] == "plain";
  const auto ids =
      tokenizer->encode(text, isPlain ? SpecialTokens::Plain : SpecialTokens::AddAndMatch);
  QVERIFY2(ids.isOk(), ids.isOk() ? "" : ids.error().message.c_str());
  const Ids wanted = expected["ids"].get<Ids>();
  QVERIFY2(*ids == wanted, nlohmann::json(*ids).dump().c_str());

  Ids written = wanted;
  const Vocabulary& vocabulary = tokenizer->vocabulary();
  if (vocabulary.addBos && !written.empty() && written[0] == vocabulary.bos) {
    written.erase(written.begin());
  }
  std::string plain = plainText(text);
  if (plain.rfind("<bos>", 0) == 0) plain.erase(0, 5);
  QCOMPARE(tokenizer->decode(written, true), plain);
  engine::text::StreamDecoder decoder(*tokenizer, true);
  std::string streamed;
  for (const TokenId id : written) {
    const std::string delta = decoder.feed(id);
    QVERIFY(delta.find("\uFFFD") == std::string::npos);
    streamed += delta;
  }
  QCOMPARE(streamed + decoder.flush(), plain);
}

void TestTokenizer::endTokensOfRealModels() {
  const std::map<std::string, Ids> expected = {
      {"SmolLM2-135M-Instruct.Q4_1.gguf", {0, 2}},
      {"gemma3-270m-q4_k_m.gguf", {1, 106}},
      {"qwen2.5-coder-0.5b.gguf", {151643, 151645}},
  };
  int numSeen = 0;
  for (const auto& [name, ids] : expected) {
    const Tokenizer* tokenizer = modelTokenizer(name);
    if (!tokenizer) continue;
    QCOMPARE(tokenizer->endOfGeneration(), ids);
    ++numSeen;
  }
  if (numSeen == 0) QSKIP("needs a model in $TESSERA_MODELS");
}

void TestTokenizer::aMegabyteOfRealTextIsQuick_data() {
  QTest::addColumn<QString>("model");
  QTest::addColumn<bool>("isOneWord");
  for (const char* model :
       {"SmolLM2-135M-Instruct.Q4_1.gguf", "gemma3-270m-q4_k_m.gguf", "qwen2.5-coder-0.5b.gguf"}) {
    QTest::addRow("%s prose", model) << model << false;
    QTest::addRow("%s one word", model) << model << true;
  }
}

void TestTokenizer::aMegabyteOfRealTextIsQuick() {
  QFETCH(QString, model);
  QFETCH(bool, isOneWord);
  const Tokenizer* tokenizer = modelTokenizer(model.toStdString());
  if (!tokenizer) QSKIP("needs the model in $TESSERA_MODELS");
  const std::string licence = sourceFile("LICENSE");
  std::string text;
  while (text.size() < (1 << 20)) text += isOneWord ? std::string("abcdefghij") : licence;
  test_support::ProcessorTimer timer;
  timer.start();
  const auto ids = tokenizer->encodeRaw(text, SpecialTokens::Plain);
  const std::int64_t elapsedMs = timer.elapsed();
  QVERIFY(ids.isOk());
  qInfo("%zu tokens in %lld ms", ids->size(), static_cast<long long>(elapsedMs));
  QCOMPARE(tokenizer->decode(*ids, true), text);
  QVERIFY2(elapsedMs < 8000, qPrintable(QString("%1 ms").arg(elapsedMs)));
}

QTEST_GUILESS_MAIN(TestTokenizer)
#include "tst_tokenizer.moc"
