// "Why this batch?": the last step's decisions, each with its reason, one line each.
#pragma once

#include <memory>
#include <vector>

#include "engine/api/snapshot.h"
#include "ui/models/batch_explanation.h"
#include "ui/panels/card.h"

namespace ui::bridge {
class Selection;
}

namespace ui::panels {

class ExplanationList;

// Ui thread only.
class WhyPanel : public Card {
  Q_OBJECT

 public:
  explicit WhyPanel(bridge::Selection& selection, QWidget* parent = nullptr);

  void setSnapshot(const std::shared_ptr<const engine::EngineSnapshot>& snapshot);

 private:
  ExplanationList* m_list;
};

}  // namespace ui::panels
