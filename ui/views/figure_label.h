// One line of figures that changes many times a second: a new text is only painted, nothing is laid out again.
#pragma once

#include <QString>
#include <QWidget>

namespace ui::views {

// Ui thread only. Where it is narrow its last parts are left out; whole in the tooltip and for screen readers.
class FigureLabel : public QWidget {
  Q_OBJECT

 public:
  explicit FigureLabel(QWidget* parent = nullptr);

  void setText(const QString& text);

  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return {0, sizeHint().height()}; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  QString m_text;
};

}  // namespace ui::views
