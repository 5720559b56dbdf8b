// The engine in 28 pixels: how full the KV pool is, the last batches, the speed, who shares the batch.
#pragma once

#include <QWidget>
#include <deque>

#include "ui/bridge/frame.h"

class QToolButton;

namespace ui::views {

// Ui thread only. Collects while hidden, paints only when seen.
class EngineStrip : public QWidget {
  Q_OBJECT

 public:
  explicit EngineStrip(QWidget* parent = nullptr);

  void takeFrame(const bridge::Frame& frame);
  // What the strip says in words, for screen readers and tests.
  QString summary() const;
  int numColumns() const { return static_cast<int>(m_columns.size()); }

 signals:
  void showEngineWanted();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  struct Column {
    std::uint32_t prefill = 0, decode = 0;
  };
  void placeButton();

  static constexpr std::size_t kNumColumns = 64;

  std::deque<Column> m_columns;
  std::shared_ptr<const engine::EngineSnapshot> m_snapshot;
  QToolButton* m_show;
};

}  // namespace ui::views
