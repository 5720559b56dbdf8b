// The KV pool, one cell a physical block: who owns memory, what is shared, what is only cached.
#pragma once

#include <QPixmap>
#include <QWidget>
#include <memory>

#include "engine/api/snapshot.h"
#include "ui/models/block_arrangement.h"
#include "ui/models/request_hues.h"

namespace ui::bridge {
class Selection;
}

namespace ui::views {

enum class BlockColouring : std::uint8_t { Owner, References, Age, Prefix };

// Ui thread only. Paints prepared cells from a cached picture; hover and pins are an overlay.
class BlockMapView : public QWidget {
  Q_OBJECT

 public:
  // `selection` and `hues` must outlive the view.
  BlockMapView(bridge::Selection& selection,
               const models::RequestHues& hues,
               QWidget* parent = nullptr);

  // May be null: no model, or a source without blocks.
  void setSnapshot(std::shared_ptr<const engine::EngineSnapshot> snapshot);
  void setColouring(BlockColouring colouring);
  void setOrder(models::BlockOrder order);
  BlockColouring colouring() const { return m_colouring; }
  models::BlockOrder order() const { return m_order; }
  const models::BlockArrangement& arrangement() const { return m_arrangement; }

  // What the tooltip says of a block: lines of text.
  QString describeBlock(int block) const;

  QSize sizeHint() const override { return {640, 320}; }
  QSize minimumSizeHint() const override { return {160, 80}; }

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;

 private:
  void invalidate();
  void arrange();
  void paintBase();
  void paintCell(QPainter& painter, const models::BlockCell& cell) const;
  void paintOverlay(QPainter& painter) const;
  QColor cellColour(const engine::BlockSnapshot& block) const;
  QString labelOf(engine::RequestId id) const;
  const engine::BlockSnapshot* blockAt(int index) const;
  void moveCursor(int step);

  bridge::Selection& m_selection;
  const models::RequestHues& m_hues;
  std::shared_ptr<const engine::EngineSnapshot> m_snapshot;
  models::BlockArrangement m_arrangement;
  QPixmap m_base;
  BlockColouring m_colouring = BlockColouring::Owner;
  models::BlockOrder m_order = models::BlockOrder::Physical;
  bool m_isDirty = true;
};

}  // namespace ui::views
