// A row of small rounded labels, each a figure: "TTFT 84 ms", "231 tok/s".
#pragma once

#include <QStringList>
#include <QWidget>

namespace ui::views {

class ChipRow : public QWidget {
  Q_OBJECT

 public:
  explicit ChipRow(QWidget* parent = nullptr);

  void setChips(const QStringList& chips);
  const QStringList& chips() const { return m_chips; }
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return {40, 22}; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  QStringList m_chips;
};

}  // namespace ui::views
