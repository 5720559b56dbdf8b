// One column an iteration: what went into each batch, and why no more.
#pragma once

#include <QPixmap>
#include <QWidget>

#include "ui/models/run_record.h"

namespace ui::bridge {
class Selection;
}

namespace ui::views {

// Ui thread only.
class BatchStripView : public QWidget {
  Q_OBJECT

 public:
  // `selection` and `record` must outlive the view.
  BatchStripView(bridge::Selection& selection,
                 const models::RunRecord& record,
                 QWidget* parent = nullptr);

  // The history has moved on.
  void refresh();
  // Columns of history index [first, first + count) are shown, the newest at the right.
  int firstVisible() const;
  int columnAt(QPointF position) const;  // history index or -1
  static QString describe(const models::StepColumn& column);

  QSize sizeHint() const override { return {640, 130}; }
  QSize minimumSizeHint() const override { return {160, 70}; }

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;

 private:
  void paintBase();
  void paintRange(QPainter& painter) const;
  void paintKnobs(QPainter& painter, double right) const;
  double edgeOf(std::int64_t ns) const;  // left edge of the first column that begins at `ns` or later
  void paintColumn(QPainter& painter, const models::StepColumn& column, QRectF place, double top) const;
  void paintLimit(QPainter& painter, engine::Reason limit, QPointF centre) const;
  double plotHeight() const;
  double scaleTop() const;  // tokens at the top of the plot

  bridge::Selection& m_selection;
  const models::RunRecord& m_record;
  const models::StepHistory& m_history;
  QPixmap m_base;
  double m_columnWidth = 7.0;
  bool m_isDirty = true;
};

}  // namespace ui::views
