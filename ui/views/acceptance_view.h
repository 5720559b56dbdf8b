// Shares of accepted guesses as bars, one for each position of a draft.
#pragma once

#include <QWidget>

#include "ui/models/acceptance.h"

namespace ui::views {

// Ui thread only.
class AcceptanceView : public QWidget {
  Q_OBJECT

 public:
  explicit AcceptanceView(QWidget* parent = nullptr);

  // Beside the bars: "1.74×" in large letters and what it means below; both may be empty.
  void setFigures(const models::AcceptanceFigures& figures, const QString& headline, const QString& explanation);
  void setEmptyText(const QString& text);
  const models::AcceptanceFigures& figures() const { return m_figures; }
  // Of the filled part; empty without that position.
  QRectF barOf(std::size_t position) const;

  QSize sizeHint() const override { return {320, 150}; }
  QSize minimumSizeHint() const override { return {180, 90}; }

 protected:
  void paintEvent(QPaintEvent* event) override;
  bool event(QEvent* event) override;

 private:
  QRectF trackOf(std::size_t position) const;
  void paintBars(QPainter& painter) const;
  void paintWords(QPainter& painter) const;

  models::AcceptanceFigures m_figures;
  QString m_headline, m_explanation, m_emptyText;
};

}  // namespace ui::views
