#include <QtTest/QtTest>

#include <algorithm>
#include <random>

#include "engine/text/stop_matcher.h"

using engine::text::StopMatcher;

namespace {

struct Played {
  std::vector<std::string> shown;  // one a push, then what finish() gave
  std::string text;
  bool isStopped = false;
  engine::text::StopCut cut;
};

Played play(const std::vector<std::string>& stops, const std::vector<std::string>& pieces) {
  StopMatcher matcher(stops);
  Played played;
  for (const std::string& piece : pieces) played.shown.push_back(matcher.push(piece));
  played.shown.push_back(matcher.finish());
  for (const std::string& shown : played.shown) played.text += shown;
  played.isStopped = matcher.isStopped();
  played.cut = matcher.cut();
  return played;
}

// Cuts `text` at random places.
std::vector<std::string> cutUp(const std::string& text, std::mt19937& random) {
  std::vector<std::string> pieces;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = std::min<std::size_t>(text.size() - at, random() % 5);
    pieces.push_back(text.substr(at, length));
    at += length;
  }
  return pieces;
}

}  // namespace

class TestStopMatcher : public QObject {
  Q_OBJECT

 private slots:
  void aStopStringOverSeveralTokensNeverShows();
  void whatCannotBecomeAStopStringIsNotDelayed();
  void aFalseStartIsShownAsSoonAsItIsFalse();
  void aStopStringMayBeginInsideAToken();
  void ofTwoStopsThePrefixWins();
  void theLongestOfThoseThatEndTogetherWins();
  void theCutNamesTheTokenThatCompletedIt();
  void nothingFollowsACut();
  void aBorderOfItselfIsFound();
  void withoutStopsTextPassesThrough();
  void anySplittingGivesTheTextBeforeTheFirstStop();
  void exactlyThePossibleBeginningIsHeld();
};

void TestStopMatcher::aStopStringOverSeveralTokensNeverShows() {
  const Played played = play({"<end>"}, {"Hi ", "<", "en", "d>", " more"});
  QCOMPARE(played.shown, (std::vector<std::string>{"Hi ", "", "", "", "", ""}));
  QVERIFY(played.isStopped);
}

void TestStopMatcher::whatCannotBecomeAStopStringIsNotDelayed() {
  const Played played = play({"zebra"}, {"one ", "two ", "three"});
  QCOMPARE(played.shown, (std::vector<std::string>{"one ", "two ", "three", ""}));
  QVERIFY(!played.isStopped);
}

void TestStopMatcher::aFalseStartIsShownAsSoonAsItIsFalse() {
  const Played played = play({"\n\nUser:"}, {"a", "\n", "\n", "Us", "ing", " it\n"});
  QCOMPARE(played.shown, (std::vector<std::string>{"a", "", "", "", "\n\nUsing", " it", "\n"}));
}

void TestStopMatcher::aStopStringMayBeginInsideAToken() {
  const Played played = play({"b c"}, {"aab", " cd"});
  QCOMPARE(played.text, std::string("aa"));
  QCOMPARE(played.cut.textBytes, std::size_t{2});
}

void TestStopMatcher::ofTwoStopsThePrefixWins() {
  for (const auto& stops : {std::vector<std::string>{"ab", "abc"}, {"abc", "ab"}}) {
    const Played played = play(stops, {"xabcd"});
    QCOMPARE(played.text, std::string("x"));
    QCOMPARE(stops[played.cut.stopIndex], std::string("ab"));
  }
}

void TestStopMatcher::theLongestOfThoseThatEndTogetherWins() {
  const Played played = play({"c", "abc", "bc"}, {"xab", "c"});
  QCOMPARE(played.text, std::string("x"));
  QCOMPARE(played.cut.stopIndex, std::size_t{1});
}

void TestStopMatcher::theCutNamesTheTokenThatCompletedIt() {
  const Played played = play({"stop"}, {"one", "", " st", "op and", " more"});
  QCOMPARE(played.cut.pushIndex, std::size_t{3});
  QCOMPARE(played.cut.textBytes, std::size_t{4});
  QCOMPARE(played.text, std::string("one "));
}

void TestStopMatcher::nothingFollowsACut() {
  StopMatcher matcher({"."});
  QCOMPARE(matcher.push("a.b"), std::string("a"));
  QCOMPARE(matcher.push("c"), std::string());
  QCOMPARE(matcher.finish(), std::string());
  QCOMPARE(matcher.cut().pushIndex, std::size_t{0});
}

void TestStopMatcher::aBorderOfItselfIsFound() {
  QCOMPARE(play({"aab"}, {"a", "a", "a", "b"}).text, std::string("a"));
  QCOMPARE(play({"abab!"}, {"ababab!"}).text, std::string("ab"));
}

void TestStopMatcher::withoutStopsTextPassesThrough() {
  QCOMPARE(play({}, {"a", "", "b"}).shown, (std::vector<std::string>{"a", "", "b", ""}));
}

void TestStopMatcher::anySplittingGivesTheTextBeforeTheFirstStop() {
  std::mt19937 random(5);
  for (int round = 0; round < 4000; ++round) {
    std::string text;
    for (int at = 0; at < 40; ++at) text.push_back(static_cast<char>('a' + random() % 3));
    std::vector<std::string> stops;
    for (int stop = 0; stop < 3; ++stop) {
      stops.push_back(text.substr(random() % 30, 1 + random() % 9));
      if (random() % 3 == 0) stops.back() += "q";
    }
    // The definition: the smallest end of any occurrence, then its smallest beginning.
    std::size_t bestEnd = std::string::npos, bestBegin = text.size();
    for (const std::string& stop : stops) {
      const std::size_t begin = text.find(stop);
      if (begin == std::string::npos) continue;
      const std::size_t end = begin + stop.size();
      if (end < bestEnd || (end == bestEnd && begin < bestBegin)) {
        bestEnd = end;
        bestBegin = begin;
      }
    }
    const Played played = play(stops, cutUp(text, random));
    QCOMPARE(played.isStopped, bestEnd != std::string::npos);
    QCOMPARE(played.text, text.substr(0, bestBegin));
  }
}

void TestStopMatcher::exactlyThePossibleBeginningIsHeld() {
  std::mt19937 random(6);
  for (int round = 0; round < 2000; ++round) {
    std::string stop, text;
    for (int at = 0; at < 6; ++at) stop.push_back(static_cast<char>('a' + random() % 2));
    for (int at = 0; at < 30; ++at) text.push_back(static_cast<char>('a' + random() % 2));
    StopMatcher matcher({stop});
    std::string shown, fed;
    for (const char byte : text) {
      fed.push_back(byte);
      shown += matcher.push(std::string(1, byte));
      if (matcher.isStopped()) break;
      std::size_t held = std::min(stop.size() - 1, fed.size());
      while (fed.compare(fed.size() - held, held, stop, 0, held) != 0) --held;
      QCOMPARE(shown, fed.substr(0, fed.size() - held));
    }
  }
}

QTEST_GUILESS_MAIN(TestStopMatcher)
#include "tst_stop_matcher.moc"
