// labels: timed
// The template language itself: what every construct writes, what it refuses, and its bounds.
#include <QtTest>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/text/chat_template.h"

using namespace engine;
using namespace engine::text;
using Json = nlohmann::ordered_json;

namespace {

struct Outcome {
  bool isOk = false;
  std::string text;  // or the message
};

Outcome render(const std::string& source, const Json& conversation) {
  const auto parsed = ChatTemplate::parse(source);
  if (!parsed) return {false, parsed.error().message};
  const auto input = ConversationInput::parse(conversation.dump(), {"<BOS>", "<EOS>"});
  if (!input) return {false, input.error().message};
  const auto text = parsed->render(*input);
  return text ? Outcome{true, plainText(*text)} : Outcome{false, text.error().message};
}

const Json kShort = {{"messages", {{{"role", "user"}, {"content", "Hi"}}}}};

}  // namespace

class TestJinjaInterpreter : public QObject {
  Q_OBJECT

 private slots:
  void rulesOfTheLanguageHold_data();
  void rulesOfTheLanguageHold();
  void errorsNameWhatFailed_data();
  void errorsNameWhatFailed();
  void hostileTemplatesEndWithAnErrorInTime_data();
  void hostileTemplatesEndWithAnErrorInTime();
  void damagedTemplatesNeverCrash();
};

void TestJinjaInterpreter::rulesOfTheLanguageHold_data() {
  QTest::addColumn<QString>("source");
  QTest::addColumn<bool>("fails");
  QTest::addColumn<QString>("expected");
  QTest::addColumn<QString>("conversation");
  std::ifstream file(qgetenv("TESSERA_SOURCE_DIR").toStdString() + "/tests/engine/text/data/jinja_rules.json");
  QVERIFY2(file.good(), "jinja_rules.json cannot be opened; is TESSERA_SOURCE_DIR set?");
  const Json document = Json::parse(file);
  const QString conversation = QString::fromStdString(document["conversation"].dump());
  int row = 0;
  for (const Json& rule : document["rules"]) {
    const std::string source = rule["template"];
    QTest::addRow("%d: %s", row++, source.substr(0, 50).c_str())
        << QString::fromStdString(source) << rule.contains("fails")
        << QString::fromStdString(rule.value("text", std::string())) << conversation;
  }
}

void TestJinjaInterpreter::rulesOfTheLanguageHold() {
  QFETCH(QString, source);
  QFETCH(bool, fails);
  QFETCH(QString, expected);
  QFETCH(QString, conversation);
  const Outcome outcome = render(source.toStdString(), Json::parse(conversation.toStdString()));
  QVERIFY2(outcome.isOk != fails, outcome.text.c_str());
  if (fails) {
    QVERIFY(!outcome.text.empty());
  } else {
    QCOMPARE(QString::fromStdString(outcome.text), expected);
  }
}

void TestJinjaInterpreter::errorsNameWhatFailed_data() {
  QTest::addColumn<QString>("source");
  QTest::addColumn<QString>("message");
  QTest::newRow("unknown name") << "a\n{{ foo.bar }}" << "line 2: 'foo' is undefined";
  QTest::newRow("missing key") << "{{ messages[0].x.y }}" << "'dict object' has no attribute 'x'";
  QTest::newRow("types") << "{{ 'a' + 1 }}" << "can only concatenate str (not \"int\") to str";
  QTest::newRow("not iterable") << "{% for x in 5 %}{% endfor %}" << "'int' object is not iterable";
  QTest::newRow("changing a list") << "{{ messages.append(1) }}" << "access to attribute 'append' of 'list' object is unsafe.";
  QTest::newRow("unknown filter") << "{{ 1|nope }}" << "there is no filter named 'nope'";
  QTest::newRow("unknown test") << "{{ 1 is nope }}" << "there is no test named 'nope'";
  QTest::newRow("zero") << "{{ 1 // 0 }}" << "division by zero";
  QTest::newRow("overflow") << "{{ 2 ** 64 }}" << "does not fit 64 bits";
  QTest::newRow("unclosed tag") << "x\n\n{{ 1" << "line 3: a tag is not closed";
  QTest::newRow("unclosed block") << "{% if true %}x" << "never closed by 'endif'";
  QTest::newRow("unknown tag") << "{% fly %}" << "unknown tag 'fly'";
  QTest::newRow("other templates") << "{% include 'x' %}" << "the tag 'include' needs other templates";
  QTest::newRow("stray end") << "{% endfor %}" << "unknown tag 'endfor'";
  QTest::newRow("bracket") << "{{ (1] }}" << "unexpected ']', expected ')'";
  QTest::newRow("not json") << "{{ range|tojson }}" << "is not JSON serializable";
  QTest::newRow("macro arguments") << "{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}" << "takes not more than 1 argument(s)";
  QTest::newRow("format") << "{{ '{:>5}'.format(1) }}" << "more than a name";
}

void TestJinjaInterpreter::errorsNameWhatFailed() {
  QFETCH(QString, source);
  QFETCH(QString, message);
  const Outcome outcome = render(source.toStdString(), kShort);
  QVERIFY(!outcome.isOk);
  QVERIFY2(outcome.text.find(message.toStdString()) != std::string::npos, outcome.text.c_str());
}

void TestJinjaInterpreter::hostileTemplatesEndWithAnErrorInTime_data() {
  QTest::addColumn<QString>("source");
  const auto repeat = [](const QString& part, int count) { return part.repeated(count); };
  QTest::newRow("endless loops") << repeat("{% for a in range(10000) %}", 5) + "x" + repeat("{% endfor %}", 5);
  QTest::newRow("huge range") << "{{ range(10**18)|list }}";
  QTest::newRow("negative range") << "{{ range(0, -(10**18), -1)|list }}";
  QTest::newRow("doubling text") << "{% set n = namespace(s='ab') %}{% for i in range(99) %}{% set n.s = n.s ~ n.s %}{% endfor %}{{ n.s }}";
  QTest::newRow("doubling list") << "{% set n = namespace(s=[1]) %}{% for i in range(99) %}{% set n.s = n.s + n.s %}{% endfor %}{{ n.s }}";
  QTest::newRow("shared lists") << "{% set n = namespace(s=[1]) %}{% for i in range(60) %}{% set n.s = [n.s, n.s] %}{% endfor %}{{ n.s }}";
  QTest::newRow("shared lists compared") << "{% set n = namespace(a=[1],b=[1]) %}{% for i in range(60) %}{% set n.a = [n.a, n.a] %}{% set n.b = [n.b, n.b] %}{% endfor %}{{ n.a == n.b }}";
  QTest::newRow("deep lists") << "{% set n = namespace(s=[]) %}{% for i in range(99999) %}{% set n.s = [n.s] %}{% endfor %}";
  QTest::newRow("deep methods") << "{% set n = namespace(s=[]) %}{% for i in range(99999) %}{% set n.s = [n.s.index] %}{% endfor %}";
  QTest::newRow("deep loops") << "{% set n = namespace(s=[]) %}{% for i in range(99999) %}{% for j in [n.s] %}{% set n.s = loop %}{% endfor %}{% endfor %}";
  QTest::newRow("endless macro") << "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}";
  QTest::newRow("two macros") << "{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{{ a() }}{% endmacro %}{{ a() }}";
  QTest::newRow("endless recursive loop") << "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}";
  QTest::newRow("printed namespace cycle") << "{% set n = namespace() %}{% set n.n = n %}{{ n }}";
  QTest::newRow("repeated text") << "{{ 'abcd' * 10**12 }}";
  QTest::newRow("repeated list") << "{{ [1] * 10**12 }}";
  QTest::newRow("padded text") << "{{ 'a'.ljust(10**12) }}";
  QTest::newRow("wide format") << "{{ '%999999999s' % 'a' }}";
  QTest::newRow("many replacements") << "{% set s = 'a' * 10**6 %}{{ s|replace('a', s) }}";
  QTest::newRow("many finds") << "{% set s = 'a' * 10**6 %}{% for i in range(100000) %}{% if (s ~ 'b') in s %}{% endif %}{% endfor %}";
  QTest::newRow("many values") << "{% set n = namespace(l=[]) %}{% for i in range(99999) %}{% set n.l = n.l + ['abcdefgh' * 999] %}{% endfor %}";
  QTest::newRow("deep brackets") << "{{ " + repeat("(", 100000) + "1" + repeat(")", 100000) + " }}";
  QTest::newRow("deep lists in source") << "{{ " + repeat("[", 100000) + repeat("]", 100000) + " }}";
  QTest::newRow("long chain") << "{{ 1" + repeat("+1", 100000) + " }}";
  QTest::newRow("long filters") << "{{ 1" + repeat("|abs", 100000) + " }}";
  QTest::newRow("many nots") << "{{ " + repeat("not ", 100000) + "1 }}";
  QTest::newRow("many minus signs") << "{{ " + repeat("-", 100000) + "1 }}";
  QTest::newRow("deep blocks") << repeat("{% if 1 %}", 10000) + repeat("{% endif %}", 10000);
  QTest::newRow("deep conditionals") << "{{ " + repeat("1 if 0 else ", 50000) + "1 }}";
}

void TestJinjaInterpreter::hostileTemplatesEndWithAnErrorInTime() {
  QFETCH(QString, source);
  const auto start = std::chrono::steady_clock::now();
  const Outcome outcome = render(source.toStdString(), kShort);
  const auto elapsed = std::chrono::steady_clock::now() - start;
  QVERIFY2(!outcome.isOk, outcome.text.substr(0, 200).c_str());
  QVERIFY(outcome.text.size() < 1000);
  // One second on a quiet machine; sanitizers and neighbours take their share.
  QVERIFY2(elapsed < std::chrono::seconds(20), "took too long");
  qInfo("%lld ms: %s", static_cast<long long>(std::chrono::duration_cast<std::chrono::milliseconds>(elapsed).count()),
        outcome.text.c_str());
}

// Truncations and flipped bytes of working templates, from a fixed seed: any outcome but a crash.
void TestJinjaInterpreter::damagedTemplatesNeverCrash() {
  std::ifstream file(qgetenv("TESSERA_SOURCE_DIR").toStdString() + "/tests/engine/text/data/jinja_rules.json");
  const Json document = Json::parse(file);
  std::vector<std::string> sources;
  for (const Json& rule : document["rules"]) sources.push_back(rule["template"]);
  if (const QByteArray shared = qgetenv("TESSERA_SHARED"); !shared.isEmpty()) {
    std::ifstream more(shared.toStdString() + "/cases/chat_templates.json");
    const Json templates = Json::parse(more);
    for (const auto& entry : templates["templates"]) sources.push_back(entry["template"]);
  }
  const bool hasCount = !qgetenv("TESSERA_FUZZ_ROUNDS").isEmpty();
  const int numRounds = hasCount ? qgetenv("TESSERA_FUZZ_ROUNDS").toInt() : 5;
  const auto input = ConversationInput::parse(document["conversation"].dump(), {"<BOS>", "<EOS>"});
  QVERIFY(input.isOk());
  std::uint64_t state = 1;
  const auto draw = [&state](std::size_t limit) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<std::size_t>(state >> 33) % limit;
  };
  static constexpr std::string_view kBytes = "{}%#-+'\"\\|.,:()[]~ \n0x9a";
  int numParsed = 0;
  for (int round = 0; round < numRounds; ++round) {
    for (std::string source : sources) {
      for (std::size_t flips = draw(4); flips > 0 && !source.empty(); --flips) {
        source[draw(source.size())] = draw(3) ? kBytes[draw(kBytes.size())] : static_cast<char>(draw(256));
      }
      if (draw(2)) source.resize(draw(source.size() + 1));
      const auto parsed = ChatTemplate::parse(source);
      if (!parsed) continue;
      ++numParsed;
      const auto text = parsed->render(*input);
      QVERIFY(text.isOk() || !text.error().message.empty());
    }
  }
  QVERIFY(numParsed > 0);
}

QTEST_GUILESS_MAIN(TestJinjaInterpreter)
#include "tst_jinja_interpreter.moc"
