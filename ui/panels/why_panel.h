// "Why this batch?": the last step's decisions, each with its reason, one line each.
#pragma once

#include <memory>
#include <vector>

#include "engine/api/snapshot.h"
#include "ui/models/batch_explanation.h"
#include "ui/panels/view_card.h"
#include "ui/panels/view_parts.h"

namespace ui::bridge {
class Selection;
}

namespace ui::panels {

class ExplanationList;

// Ui thread only.
class WhyPanel : public ViewCard {
  Q_OBJECT

 public:
  explicit WhyPanel(const ViewParts& parts, QWidget* parent = nullptr);

 protected:
  void refreshView() override;

 private:
  bridge::EngineBridge& m_bridge;
  ExplanationList* m_list;
};

}  // namespace ui::panels
