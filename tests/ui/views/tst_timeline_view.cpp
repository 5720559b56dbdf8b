// The timeline offscreen, fed with made-up events.
#include "ui/views/timeline_view.h"

#include <QApplication>
#include <QPainter>
#include <QSignalSpy>
#include <QTest>
#include <algorithm>
#include <cmath>

#include "ui/bridge/frame_cost.h"
#include "ui/style/theme.h"

using engine::RequestEvent;
using engine::RequestId;
using engine::SlicePhase;
using engine::StepId;
using engine::TraceEvent;
using ui::style::Role;
using ui::views::TimelineView;

namespace {

constexpr std::int64_t kMs = 1'000'000;

TraceEvent request(std::uint64_t id, RequestEvent event, std::int64_t ms) {
  return TraceEvent(engine::RequestRecord{id, ms * kMs, 0, 0, event, engine::Reason::None});
}

TraceEvent slice(std::uint64_t step, std::uint64_t id, SlicePhase phase, std::uint32_t tokens) {
  engine::SliceRecord record{};
  record.iteration = step;
  record.request = id;
  record.tokens = tokens;
  record.phase = phase;
  return TraceEvent(record);
}

TraceEvent step(std::uint64_t id, std::int64_t ms0, std::int64_t ms1) {
  engine::IterationRecord record{};
  record.id = id;
  record.t0Ns = ms0 * kMs;
  record.t1Ns = ms1 * kMs;
  return TraceEvent(record);
}

// Request 1: queued 0-100 ms, prefill 100-300, decode 300-1000 in seven steps. Request 2 arrives at 350,
// prefills 400-500, stalls in one step, is preempted in the next and never comes back.
struct Stage {
  Stage() {
    std::vector<TraceEvent> events{request(1, RequestEvent::Arrived, 0), request(1, RequestEvent::Admitted, 100),
                                   slice(1, 1, SlicePhase::Prefill, 30), request(1, RequestEvent::FirstToken, 300),
                                   step(1, 100, 300)};
    for (int i = 0; i < 7; ++i) {
      const auto id = static_cast<std::uint64_t>(2 + i);
      if (i == 1) {
        events.push_back(request(2, RequestEvent::Arrived, 350));
        events.push_back(request(2, RequestEvent::Admitted, 400));
        events.push_back(slice(id, 2, SlicePhase::Prefill, 20));
      }
      if (i == 3) events.push_back(request(2, RequestEvent::Preempted, 610));
      events.push_back(slice(id, 1, SlicePhase::Decode, 1));
      events.push_back(step(id, 300 + i * 100, 400 + i * 100));
    }
    events.push_back(request(1, RequestEvent::Finished, 1000));
    lanes.add(events);
    view.resize(676, 120);
    view.refresh();
  }
  const ui::models::Lane& lane(std::uint64_t id) { return *lanes.find(RequestId(id)); }
  // Middle of a request's row at a time.
  QPointF at(std::uint64_t id, std::int64_t ms) {
    const auto bar = view.barOf(lane(id), ms * kMs, ms * kMs);
    return bar ? QPointF(bar->left(), bar->center().y()) : QPointF(-1, -1);
  }
  QColor colourAt(QPointF position) { return view.grab().toImage().pixelColor(position.toPoint()); }

  ui::bridge::Selection selection;
  ui::models::TimelineLanes lanes;
  TimelineView view{selection, lanes};
};

void sendWheel(QWidget& view, QPointF at, int delta) {
  QWheelEvent event(at, view.mapToGlobal(at), {}, QPoint(0, delta), Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase, false);
  QApplication::sendEvent(&view, &event);
}

void sendMouse(QWidget& view, QEvent::Type type, QPointF at, Qt::MouseButtons held, Qt::KeyboardModifiers keys = {}) {
  const Qt::MouseButton button = type == QEvent::MouseMove ? Qt::NoButton : Qt::LeftButton;
  QMouseEvent event(type, at, view.mapToGlobal(at), button, held, keys);
  QApplication::sendEvent(&view, &event);
}

}  // namespace

class TimelineViewTest : public QObject {
  Q_OBJECT

 private slots:
  void itFollowsTheNewestEventAtTheRight() {
    Stage stage;
    const double right = stage.view.axis().xOf(1000 * kMs);
    QVERIFY(right > 660 && right < 676);
    stage.lanes.add({step(9, 1000, 1500)});
    stage.view.refresh();
    QVERIFY(std::abs(stage.view.axis().xOf(1500 * kMs) - right) < 1);
    stage.view.panBy(40);
    QVERIFY(!stage.view.isFollowing());
    const auto held = stage.view.axis();
    stage.lanes.add({step(10, 1500, 2500)});
    stage.view.refresh();
    QCOMPARE(stage.view.axis().originNs, held.originNs);
    stage.view.follow();
    QVERIFY(std::abs(stage.view.axis().xOf(2500 * kMs) - right) < 1);
  }

  void phasesAreDrawnWhereTheyHappened() {
    Stage stage;
    const auto& palette = ui::style::paletteOf(stage.view.palette());
    QCOMPARE(stage.colourAt(stage.at(1, 200)), palette.color(Role::Prefill));
    QCOMPARE(stage.colourAt(stage.at(1, 750)), palette.color(Role::Decode));
    QCOMPARE(stage.colourAt(stage.at(2, 450)), palette.color(Role::Prefill));
    // thickness tells them apart as well
    QCOMPARE(stage.colourAt(stage.at(1, 200) + QPointF(0, -5)), palette.color(Role::Prefill));
    QVERIFY(stage.colourAt(stage.at(1, 750) + QPointF(0, -5)) != palette.color(Role::Decode));
    // queued is an outline: its middle is not filled with a phase
    QVERIFY(stage.colourAt(stage.at(1, 50)) != palette.color(Role::Prefill));
    QVERIFY(stage.view.describeAt(stage.at(2, 550)).contains("waiting in the batch"));
    QVERIFY(stage.view.describeAt(stage.at(2, 800)).contains("preempted"));
    QVERIFY(stage.view.describeAt(stage.at(1, 200)).contains("30 token"));
    QVERIFY(stage.view.describeAt(stage.at(1, 200)).contains("first token after 300 ms"));
  }

  void thePictureFollowsThePalette() {
    Stage stage;
    stage.view.setPalette(ui::style::Palette::dark().qtPalette());
    QCOMPARE(stage.colourAt(stage.at(1, 750)), ui::style::Palette::dark().color(Role::Decode));
    stage.view.setPalette(ui::style::Palette::light().qtPalette());
    QCOMPARE(stage.colourAt(stage.at(1, 750)), ui::style::Palette::light().color(Role::Decode));
  }

  void theWheelZoomsAtTheCursor() {
    Stage stage;
    stage.view.panBy(-1);  // no longer follows
    const std::int64_t before = stage.view.axis().timeAt(400);
    const double scale = stage.view.axis().nsPerPixel;
    sendWheel(stage.view, {400, 30}, 120);
    QVERIFY(stage.view.axis().nsPerPixel < scale);
    QVERIFY(std::abs(stage.view.axis().timeAt(400) - before) < 10);
    sendWheel(stage.view, {400, 30}, -120);
    QVERIFY(std::abs(stage.view.axis().nsPerPixel / scale - 1) < 1e-9);
  }

  void draggingPansAndClickingPins() {
    Stage stage;
    stage.view.panBy(-1);
    const double before = stage.view.axis().xOf(0);
    sendMouse(stage.view, QEvent::MouseButtonPress, {400, 30}, Qt::LeftButton);
    sendMouse(stage.view, QEvent::MouseMove, {430, 30}, Qt::LeftButton);
    sendMouse(stage.view, QEvent::MouseButtonRelease, {430, 30}, Qt::NoButton);
    QVERIFY(std::abs(stage.view.axis().xOf(0) - before - 30) < 0.1);
    QVERIFY(stage.selection.pinnedRequest().isNone());
    const QPointF at = stage.at(1, 750);
    sendMouse(stage.view, QEvent::MouseButtonPress, at, Qt::LeftButton);
    sendMouse(stage.view, QEvent::MouseButtonRelease, at, Qt::NoButton);
    QCOMPARE(stage.selection.pinnedRequest(), RequestId(1));
    QCOMPARE(stage.selection.pinnedStep(), StepId(6));
  }

  void hoveringTellsTheOtherViews() {
    Stage stage;
    sendMouse(stage.view, QEvent::MouseMove, stage.at(2, 450), Qt::NoButton);
    QCOMPARE(stage.selection.hoveredRequest(), RequestId(2));
    QCOMPARE(stage.selection.hoveredStep(), StepId(3));
    QVERIFY(std::abs(*stage.selection.timeCursorNs() - 450 * kMs) < 4 * kMs);
    QEvent leave(QEvent::Leave);
    QApplication::sendEvent(&stage.view, &leave);
    QVERIFY(stage.selection.hoveredRequest().isNone());
    QVERIFY(!stage.selection.timeCursorNs());
  }

  void shiftDraggingSelectsARangeAndCountsIt() {
    Stage stage;
    const QPointF from = stage.at(1, 310), to = stage.at(1, 690);
    sendMouse(stage.view, QEvent::MouseButtonPress, to, Qt::LeftButton, Qt::ShiftModifier);
    sendMouse(stage.view, QEvent::MouseMove, from, Qt::LeftButton, Qt::ShiftModifier);
    sendMouse(stage.view, QEvent::MouseButtonRelease, from, Qt::NoButton, Qt::ShiftModifier);
    const auto range = stage.selection.timeRange();
    QVERIFY(range);
    QVERIFY(std::abs(range->t0Ns - 310 * kMs) < 4 * kMs && std::abs(range->t1Ns - 690 * kMs) < 4 * kMs);
    // steps that begin inside: 400, 500, 600 of request 1, the prefill of 20 of request 2
    QVERIFY2(stage.view.describeRange().contains("23 token"), qPrintable(stage.view.describeRange()));
    QVERIFY(stage.view.describeRange().contains("2 request"));
    sendMouse(stage.view, QEvent::MouseButtonPress, from, Qt::LeftButton, Qt::ShiftModifier);
    sendMouse(stage.view, QEvent::MouseButtonRelease, from, Qt::NoButton, Qt::ShiftModifier);
    QVERIFY(!stage.selection.timeRange());
    QVERIFY(stage.view.describeRange().isEmpty());
  }

  void keysMoveOverRequestsAndSlices() {
    Stage stage;
    QTest::keyClick(&stage.view, Qt::Key_Down);
    QCOMPARE(stage.selection.pinnedRequest(), RequestId(1));
    QTest::keyClick(&stage.view, Qt::Key_Period);
    QCOMPARE(stage.selection.pinnedStep(), StepId(1));
    QTest::keyClick(&stage.view, Qt::Key_Right);
    QCOMPARE(stage.selection.pinnedStep(), StepId(2));
    QVERIFY(stage.view.accessibleDescription().contains("decode"));
    QTest::keyClick(&stage.view, Qt::Key_Comma);
    QTest::keyClick(&stage.view, Qt::Key_Comma);
    QCOMPARE(stage.selection.pinnedStep(), StepId(1));  // stops at the end
    QTest::keyClick(&stage.view, Qt::Key_Down);
    QCOMPARE(stage.selection.pinnedRequest(), RequestId(2));
    QTest::keyClick(&stage.view, Qt::Key_Down);
    QCOMPARE(stage.selection.pinnedRequest(), RequestId(2));
    const double scale = stage.view.axis().nsPerPixel;
    QTest::keyClick(&stage.view, Qt::Key_W);
    QVERIFY(stage.view.axis().nsPerPixel < scale);
    QTest::keyClick(&stage.view, Qt::Key_S);
    const double x = stage.view.axis().xOf(500 * kMs);
    QTest::keyClick(&stage.view, Qt::Key_D);
    QVERIFY(stage.view.axis().xOf(500 * kMs) < x);
    QTest::keyClick(&stage.view, Qt::Key_A);
    QVERIFY(std::abs(stage.view.axis().xOf(500 * kMs) - x) < 0.1);
    QTest::keyClick(&stage.view, Qt::Key_End);
    QVERIFY(stage.view.isFollowing());
  }

  void lossIsDrawnAndTold() {
    Stage stage;
    stage.lanes.markLoss();
    stage.lanes.add({step(40, 1400, 1500)});
    stage.view.refresh();
    const double x = stage.view.axis().xOf(1400 * kMs);
    QVERIFY(stage.view.describeAt({x, 30}).contains("lost"));
    const QImage image = stage.view.grab().toImage();
    const QColor danger = ui::style::paletteOf(stage.view.palette()).color(Role::Danger);
    int hits = 0;
    for (int px = int(stage.view.axis().xOf(1010 * kMs)); px < int(x); ++px) {
      for (int y = 2; y < 100; ++y) hits += image.pixelColor(px, y) == danger;
    }
    QVERIFY(hits > 20);
  }

  // Hover repaints the overlay alone: the bars come from the picture made before.
  void manyEventsFitTheFrame() {
    Stage stage;
    std::vector<TraceEvent> events;
    for (std::uint64_t id = 100; id < 120; ++id) events.push_back(request(id, RequestEvent::Admitted, 1000));
    for (std::uint64_t i = 0; i < 24'000; ++i) {
      for (std::uint64_t id = 100; id < 120; ++id) events.push_back(slice(50 + i, id, SlicePhase::Decode, 1));
      events.push_back(step(50 + i, 1000 + std::int64_t(i), 1001 + std::int64_t(i)));
    }
    stage.lanes.add(events);
    QVERIFY(stage.lanes.numSpans() > 480'000);
    stage.view.resize(1400, 400);
    stage.view.showAll();
    QPixmap target(1400, 400);
    std::vector<double> full, hover;
    const auto costOf = [](const auto& work) {
      const double start = ui::bridge::threadCpuMs();
      work();
      return ui::bridge::threadCpuMs() - start;
    };
    for (int i = 0; i < 9; ++i) {
      full.push_back(costOf([&] {
        stage.view.refresh();
        stage.view.render(&target);
      }));
      hover.push_back(costOf([&] {
        stage.selection.setTimeCursorNs(2000 * kMs + i);
        stage.view.render(&target);
      }));
    }
    std::ranges::sort(full);
    std::ranges::sort(hover);
    qInfo("full %.2f ms, hover %.2f ms", full[4], hover[4]);
    QVERIFY(full[0] < 8);
    QVERIFY(hover[0] < full[0]);
  }

  void anEmptyTimelineSaysWhatToDo() {
    ui::bridge::Selection selection;
    ui::models::TimelineLanes lanes;
    TimelineView view(selection, lanes);
    view.resize(400, 100);
    view.refresh();
    view.stepSlice(1);
    view.stepRequest(-1);
    view.zoomAt(200, 2);
    view.panBy(50);
    QVERIFY(!view.grab().isNull());
    QVERIFY(view.describeAt({200, 20}).isEmpty());
    QVERIFY(!view.accessibleName().isEmpty());
  }
};

QTEST_MAIN(TimelineViewTest)
#include "tst_timeline_view.moc"
