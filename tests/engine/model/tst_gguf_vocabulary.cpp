#include <QtTest/QtTest>

#include <QTemporaryDir>

#include "engine/model/gguf_vocabulary.h"
#include "tests/support/gguf_writer.h"

using engine::ErrorCode;
using engine::Result;
using engine::model::GgufFile;
using engine::model::readVocabulary;
using engine::text::TokenType;
using engine::text::Vocabulary;
using engine::text::VocabularyKind;
using test_support::GgufWriter;

namespace {

GgufWriter bpeFile() {
  GgufWriter writer;
  writer.add("general.architecture", "never-heard-of");
  writer.add("tokenizer.ggml.model", "gpt2");
  writer.add("tokenizer.ggml.pre", "smollm");
  writer.add("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b", "ab", "<|end|>", "\xff"});
  writer.add("tokenizer.ggml.token_type", std::vector<std::int32_t>{1, 1, 1, 3, 1});
  writer.add("tokenizer.ggml.merges", std::vector<std::string>{"a b"});
  return writer;
}

GgufWriter sentencePieceFile() {
  GgufWriter writer;
  writer.add("tokenizer.ggml.model", "llama");
  writer.add("tokenizer.ggml.tokens", std::vector<std::string>{"<unk>", "<s>", "</s>", "x"});
  writer.add("tokenizer.ggml.scores", std::vector<float>{0.0f, 0.0f, 0.0f, -1.5f});
  writer.add("tokenizer.ggml.token_type", std::vector<std::int32_t>{2, 3, 3, 1});
  return writer;
}

}  // namespace

class TestGgufVocabulary : public QObject {
  Q_OBJECT

 private:
  Result<Vocabulary> read(const GgufWriter& writer) {
    const std::string path = m_folder.filePath("vocabulary.gguf").toStdString();
    writer.writeTo(path);
    const auto file = GgufFile::open(path);
    if (!file) return file.error();
    return readVocabulary(*file);
  }

  QTemporaryDir m_folder;

 private slots:

  void readsAByteBpeVocabularyOfAnUnknownArchitecture() {
    GgufWriter writer = bpeFile();
    writer.add("tokenizer.ggml.eos_token_id", 3u);
    writer.add("tokenizer.chat_template", "{{ x }}");
    const auto vocabulary = read(writer);
    QVERIFY2(vocabulary.isOk(), vocabulary ? "" : vocabulary.error().message.c_str());
    QCOMPARE(vocabulary->kind, VocabularyKind::ByteBpe);
    QCOMPARE(vocabulary->pre, std::string("smollm"));
    QCOMPARE(vocabulary->tokens.size(), std::size_t{5});
    QCOMPARE(vocabulary->tokens[4], std::string("\xff"));
    QCOMPARE(vocabulary->types[3], TokenType::Control);
    QCOMPARE(vocabulary->merges, std::vector<std::string>{"a b"});
    QCOMPARE(vocabulary->eos, 3);
    QCOMPARE(vocabulary->bos, -1);
    QVERIFY(!vocabulary->addBos);
    QVERIFY(!vocabulary->addSpacePrefix);
    QCOMPARE(vocabulary->chatTemplate, std::string("{{ x }}"));
  }

  void anAbsentKeyMeansWhatTheTokenizerModelSays() {
    const auto vocabulary = read(sentencePieceFile());
    QVERIFY(vocabulary.isOk());
    QCOMPARE(vocabulary->kind, VocabularyKind::SentencePiece);
    QCOMPARE(vocabulary->unknown, 0);
    QCOMPARE(vocabulary->bos, 1);
    QCOMPARE(vocabulary->eos, 2);
    QCOMPARE(vocabulary->scores[3], -1.5f);
    QVERIFY(vocabulary->addBos);
    QVERIFY(!vocabulary->addEos);
    QVERIFY(vocabulary->addSpacePrefix);
  }

  void theFilesOwnFlagsWin() {
    GgufWriter writer = sentencePieceFile();
    writer.add("tokenizer.ggml.add_bos_token", false);
    writer.add("tokenizer.ggml.add_eos_token", true);
    writer.add("tokenizer.ggml.add_space_prefix", false);
    writer.add("tokenizer.ggml.bos_token_id", 3u);
    writer.add("tokenizer.ggml.eos_token_id", 0xFFFFFFFFu);  // "none"
    const auto vocabulary = read(writer);
    QVERIFY(vocabulary.isOk());
    QVERIFY(!vocabulary->addBos);
    QVERIFY(vocabulary->addEos);
    QVERIFY(!vocabulary->addSpacePrefix);
    QCOMPARE(vocabulary->bos, 3);
    QCOMPARE(vocabulary->eos, -1);
  }

  void anUnknownTokenizerModelIsReadAndNamed() {
    GgufWriter writer;
    writer.add("tokenizer.ggml.model", "rwkv");
    writer.add("tokenizer.ggml.tokens", std::vector<std::string>{"a"});
    const auto vocabulary = read(writer);
    QVERIFY(vocabulary.isOk());
    QCOMPARE(vocabulary->kind, VocabularyKind::Unsupported);
    QCOMPARE(vocabulary->model, std::string("rwkv"));
    QCOMPARE(vocabulary->types[0], TokenType::Normal);
  }

  void aFileWithoutVocabularySaysSo() {
    GgufWriter writer;
    writer.add("general.architecture", "llama");
    const auto vocabulary = read(writer);
    QVERIFY(!vocabulary.isOk());
    QCOMPARE(vocabulary.error().code, ErrorCode::Unsupported);
    QVERIFY(vocabulary.error().message.find("tokenizer.ggml.tokens") != std::string::npos);
  }

  void partsThatDoNotFitTogetherAreRefused_data() {
    QTest::addColumn<QString>("key");
    QTest::newRow("too few types") << "tokenizer.ggml.token_type";
    QTest::newRow("too few scores") << "tokenizer.ggml.scores";
    QTest::newRow("id past the end") << "tokenizer.ggml.bos_token_id";
    QTest::newRow("template is a number") << "tokenizer.chat_template";
    QTest::newRow("merges are numbers") << "tokenizer.ggml.merges";
  }

  void partsThatDoNotFitTogetherAreRefused() {
    QFETCH(QString, key);
    const std::string name = key.toStdString();
    GgufWriter writer;
    writer.add("tokenizer.ggml.model", "llama");
    writer.add("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b"});
    if (name.ends_with("token_type")) writer.add(name, std::vector<std::int32_t>{1});
    if (name.ends_with("scores")) writer.add(name, std::vector<float>{1.0f});
    if (name.ends_with("bos_token_id")) writer.add(name, 2u);
    if (name.ends_with("chat_template")) writer.add(name, 2u);
    if (name.ends_with("merges")) writer.add(name, std::vector<float>{1.0f});
    const auto vocabulary = read(writer);
    QVERIFY(!vocabulary.isOk());
    QCOMPARE(vocabulary.error().code, ErrorCode::CorruptFile);
    QVERIFY2(vocabulary.error().message.find(name) != std::string::npos,
             vocabulary.error().message.c_str());
  }

  void readsTheVocabulariesOfTheRealModels_data() {
    QTest::addColumn<QString>("file");
    QTest::addColumn<int>("numTokens");
    QTest::addColumn<int>("numMerges");
    QTest::addColumn<int>("eos");
    QTest::newRow("smollm") << "SmolLM2-135M-Instruct.Q4_1.gguf" << 49152 << 48900 << 2;
    QTest::newRow("qwen") << "qwen2.5-coder-0.5b.gguf" << 151936 << 151387 << 151645;
    QTest::newRow("gemma") << "gemma3-270m-q4_k_m.gguf" << 262144 << 0 << 1;
  }

  void readsTheVocabulariesOfTheRealModels() {
    QFETCH(QString, file);
    QFETCH(int, numTokens);
    QFETCH(int, numMerges);
    QFETCH(int, eos);
    const QString path = qEnvironmentVariable("TESSERA_MODELS") + "/" + file;
    if (!QFile::exists(path)) QSKIP("needs the real model in $TESSERA_MODELS");
    const auto opened = GgufFile::open(path.toStdString());
    QVERIFY2(opened.isOk(), opened ? "" : opened.error().message.c_str());
    const auto vocabulary = readVocabulary(*opened);
    QVERIFY2(vocabulary.isOk(), vocabulary ? "" : vocabulary.error().message.c_str());
    QCOMPARE(static_cast<int>(vocabulary->tokens.size()), numTokens);
    QCOMPARE(static_cast<int>(vocabulary->merges.size()), numMerges);
    QCOMPARE(vocabulary->eos, eos);
  }
};

QTEST_GUILESS_MAIN(TestGgufVocabulary)
#include "tst_gguf_vocabulary.moc"
