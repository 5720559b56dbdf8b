// labels: pure
#include "ui/models/replay_texts.h"

#include <QTest>
#include <utility>

#include "engine/api/replay_control.h"

using namespace engine;
using ui::models::ReplayText;
using ui::models::ReplayTexts;

namespace {

class NoPrompts : public ReplayControl {
 public:
  std::int64_t beginNs() const override { return 0; }
  std::int64_t endNs() const override { return 0; }
  std::int64_t positionNs() const override { return 0; }
  void seekNs(std::int64_t) override {}
  double speed() const override { return 1; }
  void setSpeed(double) override {}
  std::optional<RecordedPrompt> promptOf(RequestId) const override { return std::nullopt; }
  const std::string& cutSentence() const override { return m_none; }

 private:
  std::string m_none;
};

TextDelta said(const char* text, int choice) {
  TextDelta delta;
  delta.request = RequestId(1);
  delta.text = text;
  delta.choice = choice;
  return delta;
}

}  // namespace

class ReplayTextsTest : public QObject {
  Q_OBJECT

 private slots:
  void answersOfOneRequestAreKeptApart() {
    NoPrompts replay;
    ReplayTexts texts;
    ui::bridge::Frame frame;
    frame.messages = {said("The ", 0), said("A ", 1), said("cat", 0), said("dog", 1), said("!", 1 << 30)};
    QVERIFY(texts.take(frame, replay));
    const ReplayText* text = texts.find(RequestId(1));
    QVERIFY(text != nullptr);
    QCOMPARE(text->answer, QString("The cat"));
    QCOMPARE(text->others, QStringList{"A dog"});
  }

  void aRequestThatBeginsAgainHasNoAnswers() {
    NoPrompts replay;
    ReplayTexts texts;
    ui::bridge::Frame frame;
    RequestStarted again;
    again.request = RequestId(1);
    frame.messages = {said("The ", 0), said("A ", 1), again, said("So", 0)};
    QVERIFY(texts.take(frame, replay));
    QCOMPARE(texts.find(RequestId(1))->answer, QString("So"));
    QVERIFY(texts.find(RequestId(1))->others.isEmpty());
  }
};

QTEST_GUILESS_MAIN(ReplayTextsTest)
#include "tst_replay_texts.moc"
