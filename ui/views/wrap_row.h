// Small controls side by side, in more lines where they do not fit in one.
#pragma once

#include <QWidget>
#include <vector>

namespace ui::views {

// Ui thread only.
class WrapRow : public QWidget {
  Q_OBJECT

 public:
  explicit WrapRow(QWidget* parent = nullptr);

  // Takes it over; `gap` px before it unless it begins a line.
  void add(QWidget* control, int gap = 4);

  QSize minimumSizeHint() const override;

 protected:
  void resizeEvent(QResizeEvent* event) override;
  bool event(QEvent* event) override;

 private:
  struct Item {
    QWidget* control;
    int gap;
  };

  void arrange();

  std::vector<Item> m_items;
};

}  // namespace ui::views
