// A calm plot: a few curves over one axis, marks, and the shared cursor.
#pragma once

#include <QString>
#include <QWidget>
#include <optional>
#include <vector>

#include "ui/models/series.h"
#include "ui/style/palette.h"

class QCPItemRect;
class QCPRange;
class QCPItemStraightLine;
class QCPItemText;
class QCustomPlot;
class QLabel;

namespace ui::views {

struct PlotCurve {
  QString name;
  style::Role role;
  Qt::PenStyle pen = Qt::SolidLine;  // a second channel beside the colour
  bool isStep = false;               // a value holds until the next
};

// A vertical line with a word at its top.
struct PlotMark {
  double x;
  QString text;
};

// Ui thread only. Setters draw nothing; redraw() asks for one replot, however often it is called.
class PlotView : public QWidget {
  Q_OBJECT

 public:
  // Curves with a name are named in a line above the plot.
  explicit PlotView(const QString& name, const std::vector<PlotCurve>& curves, QWidget* parent = nullptr);

  // Engine time in seconds; a bucket's least, greatest and last value are all drawn.
  void setSeries(int curve, const std::vector<models::SeriesBucket>& buckets);
  // The empirical distribution of ascending samples, in percent.
  void setDistribution(int curve, const std::vector<double>& sorted);
  void setRanges(double xMin, double xMax, double yMax);
  void setMarks(const std::vector<PlotMark>& marks);
  void setBand(std::optional<std::pair<double, double>> band);
  // Cheap: the curves are not drawn again.
  void setCursor(std::optional<double> x);
  // Stands behind the last number of each axis; empty = a count.
  void setUnits(const QString& x, const QString& y);
  void setEmptyText(const QString& text);  // shown instead of curves; empty = show the curves
  void redraw();

  double greatest(int curve) const;  // of what is set; 0 without points
  int numPoints(int curve) const;
  int plotWidth() const;             // pixels between the axes
  double xAt(double pixel) const;
  double pixelOf(double x) const;
  double yPixelOf(double y) const;

  QSize sizeHint() const override { return {360, 150}; }
  QSize minimumSizeHint() const override;

 signals:
  // Nothing when the mouse has left.
  void hovered(std::optional<double> x);
  void redrawn(double ms);
  void resized();

 protected:
  void changeEvent(QEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void buildPlot();
  void buildLegend();
  void recolour();
  void placeMarkTexts();
  std::vector<QCPRange> curvesIn(const QCPRange& stretch) const;
  void showLegend();
  void spaceTicks();
  int lastNumberWidth() const;

  std::vector<PlotCurve> m_curves;
  QString m_xUnit;
  QCustomPlot* m_plot;
  QCPItemStraightLine* m_cursor = nullptr;
  QLabel* m_empty = nullptr;
  std::vector<QCPItemStraightLine*> m_markLines;
  std::vector<QCPItemText*> m_markTexts;
  std::vector<PlotMark> m_marks;
  QCPItemRect* m_band = nullptr;
};

}  // namespace ui::views
