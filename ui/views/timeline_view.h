// Where each request's time went: one row a request, its life as bars on a shared time axis.
#pragma once

#include <QPixmap>
#include <QWidget>
#include <optional>
#include <vector>

#include "ui/bridge/selection.h"
#include "ui/models/time_axis.h"
#include "ui/models/timeline_lanes.h"

namespace ui::views {

// Ui thread only. Bars come from a cached picture; hover, cursor and ranges are an overlay. Rows are the
// requests alive in the shown time, by arrival; it follows the newest event until panned.
class TimelineView : public QWidget {
  Q_OBJECT

 public:
  static constexpr double kMinItemPixels = 2;

  // Both must outlive the view.
  TimelineView(bridge::Selection& selection, const models::TimelineLanes& lanes, QWidget* parent = nullptr);

  // The lanes have moved on. Call after every change of them while the view is visible.
  void refresh();

  // Px, grown with the text: the names at the left, the times below, one line that tells of a knob.
  static double labelWidth();
  static double axisHeight();
  static double flagHeight();

  const models::TimeAxis& axis() const { return m_axis; }  // pixel 0 is the widget's left edge
  bool isFollowing() const { return m_isFollowing; }
  void follow();
  void showAll();
  void zoomAt(double x, double factor);
  void panBy(double pixels);
  // Pins the next (1) or previous (-1) slice of the pinned request; without one, of the first row.
  void stepSlice(int direction);
  void stepRequest(int direction);

  const models::Lane* laneAt(QPointF position) const;
  // Null where no row is drawn.
  std::optional<QRectF> barOf(const models::Lane& lane, std::int64_t t0Ns, std::int64_t t1Ns) const;
  // What the tooltip says at a point: lines of text, empty where there is nothing.
  QString describeAt(QPointF position) const;
  QString describeSpan(const models::Lane& lane, int span) const;
  // "2.1 s selected · 3 requests · 240 tokens", or empty without a range.
  QString describeRange() const;

  QSize sizeHint() const override { return {640, 200}; }
  QSize minimumSizeHint() const override { return {200, 70}; }

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void showEvent(QShowEvent* event) override;
  void changeEvent(QEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;

 private:
  struct Drag {
    QPointF start, last;
    bool isRange = false, hasMoved = false;
  };

  void invalidate();
  void arrange();
  void placeAxis();
  QRectF plotRect() const;
  // The plot less the rows at its foot that tell of knobs.
  QRectF lanesRect() const;
  int numFlagRows() const;
  double rowTop(std::size_t row) const;
  void reveal(const models::Lane& lane, std::int64_t t0Ns, std::int64_t t1Ns);
  void pinSlice(const models::Lane& lane, int span);
  void scrollRows(double pixels);
  void dragTo(QPointF position);

  void paintBase();
  void paintTicks(QPainter& painter) const;
  void paintMarks(QPainter& painter) const;
  void paintLane(QPainter& painter, const models::Lane& lane, double top) const;
  void paintSpans(QPainter& painter, const models::Lane& lane, double top) const;
  void paintBar(QPainter& painter, models::SpanKind kind, double left, double right, double middle) const;
  void paintMix(QPainter& painter, const models::LaneItem& item, double middle) const;
  void paintGaps(QPainter& painter, const models::Lane& lane, double top) const;
  void paintOverlay(QPainter& painter) const;
  void paintLabels(QPainter& painter) const;
  void paintFirstTokenBracket(QPainter& painter, const models::Lane& lane) const;
  void paintCursor(QPainter& painter, std::int64_t ns) const;
  QString labelOf(const models::Lane& lane) const;

  bridge::Selection& m_selection;
  const models::TimelineLanes& m_lanes;
  std::vector<const models::Lane*> m_rows;  // what is shown now
  models::TimeAxis m_axis;
  QPixmap m_base;
  std::optional<Drag> m_drag;
  double m_rowHeight = 18, m_scroll = 0;  // pixels of rows above the plot
  bool m_isFollowing = true, m_hasOwnZoom = false, m_isDirty = true;
};

}  // namespace ui::views
