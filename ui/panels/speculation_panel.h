// Whether drafting is worth it: acceptance by position, tokens a pass, speed against off as measured.
#pragma once

#include "ui/panels/view_card.h"
#include "ui/panels/view_parts.h"

namespace ui::views {
class AcceptanceView;
}

namespace ui::panels {

// Ui thread only. Positions follow the selected time range; the speed is the engine's own measurement.
class SpeculationPanel : public ViewCard {
  Q_OBJECT

 public:
  explicit SpeculationPanel(const ViewParts& parts, QWidget* parent = nullptr);

  views::AcceptanceView& view() { return *m_view; }

 protected:
  void refreshView() override;

 private:
  bridge::EngineBridge& m_bridge;
  models::RunRecord& m_record;
  views::AcceptanceView* m_view;
};

}  // namespace ui::panels
