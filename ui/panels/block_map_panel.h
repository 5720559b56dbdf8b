// The block map with its switches, its figures and its legend.
#pragma once

#include <memory>

#include "engine/api/snapshot.h"
#include "ui/models/request_hues.h"
#include "ui/panels/view_card.h"
#include "ui/panels/view_parts.h"
#include "ui/views/block_map_view.h"


namespace ui::views {
class LegendView;
class WrapRow;
}

namespace ui::panels {

// Ui thread only.
class BlockMapPanel : public ViewCard {
  Q_OBJECT

 public:
  explicit BlockMapPanel(const ViewParts& parts, QWidget* parent = nullptr);

  views::BlockMapView& map() { return *m_map; }
  const models::RequestHues& hues() const { return m_hues; }

 protected:
  void refreshView() override;

 private:
  void buildSwitches(views::WrapRow& row);
  void showFigures();

  bridge::EngineBridge& m_bridge;
  models::RequestHues m_hues;
  std::shared_ptr<const engine::EngineSnapshot> m_snapshot;
  views::BlockMapView* m_map;
  views::LegendView* m_legend;
};

}  // namespace ui::panels
