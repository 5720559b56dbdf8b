// A title that leaves out its last parts, or ends in dots, where its card is too narrow for it.
#pragma once

#include <QLabel>

namespace ui::views {

// Ui thread only. Asks for its whole width, takes less; whole in the tooltip.
class TitleLabel : public QLabel {
  Q_OBJECT

 public:
  explicit TitleLabel(const QString& title, QWidget* parent = nullptr);

  void setTitle(const QString& title);

  QSize minimumSizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;
};

}  // namespace ui::views
